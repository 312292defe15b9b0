"""One small network, written by hand in each language; its numbers are chosen, not computed."""

from __future__ import annotations

import json

import numpy as np

BIF = """\
// Rain makes the grass wet, and so does the sprinkler.
network "the garden" {
  property "drawn by hand";
}
variable rain {
  type discrete [ 2 ] { yes, no };
  property position = (10, 20);
}
variable "sprinkler" { type discrete[3] { "off" "low" "high" }; }
variable 3 { type discrete [ 2 ] { 0, 1 }; }  /* a number
for a name */
probability ( rain ) { table 0.25, 0.75; }
probability ( sprinkler | rain ) {
  (yes) 1.0 0.0 0.0;
  (no) .5, 25e-2, 0.25;
}
probability ( 3 | rain, sprinkler ) {
  property anything at all;
  default 0.0, 1.0;
  (no, "off") 1, 0;
  (no, low) 0.125, 0.875;
}
"""

NET = """\
% Rain makes the grass wet, and so does the sprinkler.
net
{
  node_size = (50 50);
  name = "the \\"garden\\"";
}
node rain { states = ("yes" "no"); label = "Rain; or not"; position = (10 20); }
discrete node sprinkler { states = (off low "high"); }
node 3 { states = ("0" "1"); }
potential ( rain ) { data = (0.25 0.75); }
potential ( sprinkler | rain ) { data = ((1.0 0.0 0.0) % given rain
  (.5 25e-2 0.25)); }
potential ( 3 | rain sprinkler )
{
  data = (((0 1) (0 1) (0 1)) ((1 0) (0.125 0.875) (0.0 1.0)));
}
"""

NET_CLASS = "class garden\n{\n  inputs = ();\n" + NET.split("}\n", 1)[1] + "}\n"

NET_NORMAL = """\
net { node_size = (80 40); }
node group { states = ("a" "b"); }
continuous node dose { label = "dose"; position = (10 20); }
continuous node effect { label = ""; }
node better { states = ("yes" "no"); }
potential ( group ) { data = (0.25 0.75); }
potential ( dose ) { data = normal ( 10, 4 ); }
potential ( better | group ) { data = ((0.5 0.5) (0.1 0.9)); }
potential ( effect | group dose )
{
  data = ( normal ( -1.5 + 2 * dose, 0.25 )     % a
           normal ( dose*0.5-3e-1, 1.0E+1 ) );  % b
}
"""

XMLBIF = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF (NETWORK)*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
]>
<!-- Rain makes the grass wet, and so does the sprinkler. -->
<BIF VERSION="0.3"><NETWORK><NAME>the garden</NAME>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>
  <PROPERTY>position = (10, 20)</PROPERTY></VARIABLE>
<VARIABLE><NAME> sprinkler </NAME>
  <OUTCOME>off</OUTCOME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>3</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>sprinkler</FOR><GIVEN>rain</GIVEN>
  <TABLE>1.0 0.0 0.0 <!-- given rain --> .5 25e-2 0.25</TABLE></DEFINITION>
<DEFINITION><FOR>3</FOR><GIVEN>rain</GIVEN><GIVEN>sprinkler</GIVEN>
  <TABLE>0 1 0 1 0 1
    1 0 0.125 0.875 0.0 1.0</TABLE></DEFINITION>
</NETWORK></BIF>
"""

JSON = json.dumps(
    {
        "lacunary": "network",
        "version": 1,
        "dag": {
            "lacunary": "dag",
            "version": 1,
            "schema": {
                "lacunary": "schema",
                "version": 1,
                "variables": [
                    {"name": "rain", "states": ["yes", "no"]},
                    {"name": "sprinkler", "states": ["off", "low", "high"]},
                    {"name": "3", "states": ["0", "1"]},
                ],
            },
            "parents": {"rain": [], "sprinkler": ["rain"], "3": ["rain", "sprinkler"]},
        },
        "tables": {
            "rain": [0.25, 0.75],
            "sprinkler": [1, 0, 0, 0.5, 0.25, 0.25],
            "3": [0, 1, 0, 1, 0, 1, 1, 0, 0.125, 0.875, 0, 1],
        },
    },
    indent=1,
)

STATES = {"rain": ("yes", "no"), "sprinkler": ("off", "low", "high"), "3": ("0", "1")}
PARENTS = {"rain": (), "sprinkler": ("rain",), "3": ("rain", "sprinkler")}
TABLES = {
    "rain": np.array([0.25, 0.75]),
    "sprinkler": np.array([[1, 0, 0], [0.5, 0.25, 0.25]]),
    "3": np.array([[[0, 1], [0, 1], [0, 1]], [[1, 0], [0.125, 0.875], [0, 1]]]),
}


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """Return the text with each of the old pieces, which must occur once, replaced by the new."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def marked(text: str) -> tuple[str, str]:
    """Return the text without its one ¶, and the line and column at which that stood."""
    before, after = text.split("¶")
    lines = before.split("\n")
    return before + after, f"line {len(lines)}, column {len(lines[-1]) + 1}: "


DSC = """belief network "Sprinkler" // by hand
node Rain { name: "Rain"; type: discrete[2] = { "yes", "no" }; position: (1, 2); }
node Wet
{
  type : discrete[3] = {"dry", "damp", "wet"};
}
probability(Rain) { 0.2, 0.8; }
probability(Wet | Rain)
{
  (0) : 0.1, 0.2, 0.7;
  default : 0.6, 0.3, 0.1;
}
"""

DNE = """// ~->[DNET-1]->~
bnet Garden {
autoupdate = TRUE;
visual V1 { defdispform = BELIEFBARS; nodelabeling = TITLE; };
node Rain {
    kind = NATURE;
    discrete = TRUE;
    chance = CHANCE;
    states = (yes, no);
    parents = ();
    probs =
        // yes          no
        (0.2,           0.8);
    visual V1 { center = (96, 42); height = 1; };
    };
node Wet {
    kind = NATURE;
    discrete = TRUE;
    states = (dry, wet);
    parents = (Rain);
    functable = (wet, dry);
    };
node Slip {
    discrete = TRUE;
    numstates = 2;
    parents = (Wet, Rain);
    probs = (((0.9, 0.1), (0.8, 0.2)), ((0.5, 0.5), (0.25, 0.75)));
    };
};
"""
