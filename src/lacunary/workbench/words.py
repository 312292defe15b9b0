"""What a client may say: the bodies of requests, bounded in size, and described in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "Ask", "ClassesAsked", "CompareAsked", "FitAsked", "ImputeAsked", "MixtureAsked", "Named", "Renamed",
    "RowAsked", "ScriptAsked", "SearchAsked", "Settings", "TargetAsked", "VersusAsked", "given_of",
]  # fmt: skip

Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Key = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16,24}$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Arc = Annotated[list[Name], Field(min_length=2, max_length=2)]
Label = str | int | float | bool
Encoding = Literal[
    "utf-8", "utf-16", "latin-1", "cp1252", "cp1250", "cp1251", "cp437", "iso8859-15", "koi8-r", "mac-roman",
    "shift-jis", "gb18030", "big5", "euc-kr",
]  # fmt: skip
Delimiter = Literal[",", ";", "\t", "|", " ", ":", "~", "^", "&", "/"]


class Body(BaseModel):
    """What is sent; a word that is not known is refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Finding(Body):
    """What is known of a variable: the place of its state, a likelihood of each state, or a value."""

    state: Annotated[int, Field(ge=0, le=10**6)] | None = None
    likelihood: Annotated[list[Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)]],
                          Field(min_length=1, max_length=10_000)] | None = None  # fmt: skip
    value: Annotated[float, Field(ge=-1e150, le=1e150, allow_inf_nan=False)] | None = None


Given = Annotated[dict[Name, Finding], Field(max_length=5000)]


def given_of(given: dict[str, Finding]) -> dict[str, dict[str, Any]]:
    """Return findings as plain dictionaries; one that says nothing is none."""
    out = {name: one.model_dump(exclude_none=True) for name, one in given.items()}
    return {name: one for name, one in out.items() if one}


class Ask(Body):
    """A question: what is given."""

    given: Given = {}


class TargetAsked(Ask):
    """A question about one variable."""

    target: Name


class RowAsked(Body):
    """A question about one row of a table, counted from one."""

    table: Key
    row: Annotated[int, Field(ge=1, le=2**40)]
    target: Name | None = None


class VersusAsked(Body):
    """Two models of one table, row by row."""

    table: Key
    a: Key
    b: Key
    count: Annotated[int, Field(ge=1, le=200)] = 12


class ScriptAsked(Ask):
    """The script of a model, what is given and what is asked."""

    targets: Annotated[list[Name], Field(max_length=100)] = []


class Settings(Body):
    """How a table is read; see `lacunary.read`."""

    kinds: Annotated[dict[Name, Literal["discrete", "continuous"]], Field(max_length=5000)] = {}
    states: Annotated[
        dict[Name, Annotated[list[Label], Field(max_length=10_000)]], Field(max_length=5000)
    ] = {}
    ordered: Annotated[list[Name], Field(max_length=5000)] = []
    holes: Annotated[list[Annotated[str, StringConstraints(max_length=500)]], Field(max_length=100)] = []
    not_holes: Annotated[list[Annotated[str, StringConstraints(max_length=500)]], Field(max_length=4)] = []
    drop: Annotated[list[Name], Field(max_length=5000)] = []
    rename: Annotated[
        dict[Name, Annotated[str, StringConstraints(min_length=1, max_length=200)]], Field(max_length=5000)
    ] = {}
    decimal: Literal[".", ","] | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    encoding: Encoding | None = None
    delimiter: Delimiter | None = None
    quote: Literal["", "'", '"'] = '"'
    escape: Literal["\\"] | None = None
    comment: Annotated[str, StringConstraints(min_length=1, max_length=5)] | None = None
    header: Annotated[int, Field(ge=0, le=5)] = 1
    names: Annotated[list[Name], Field(max_length=5000)] = []
    skip: Annotated[int, Field(ge=0, le=10**6)] = 0
    skip_end: Annotated[int, Field(ge=0, le=10**6)] = 0
    ragged: bool = False
    day_first: bool | None = None
    dates: Literal["days", "parts", "text"] = "days"
    sheet: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    weights: Name | None = None


class Named(Body):
    """Something that comes with the package, by name."""

    name: Literal["house_votes", "soybean", "asia", "alarm"]


class Renamed(Body):
    """A new name."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class JobAsked(Body):
    """Work on a table."""

    table: Key
    seed: Seed = 0


class ClassesAsked(JobAsked):
    """Hidden classes: for every number from–to."""

    kind: Literal["classes"]
    first: Annotated[int, Field(ge=1, le=100, alias="from")] = 1
    to: Annotated[int, Field(ge=1, le=100)] = 6
    hidden: Name = "class"
    aside: Name | None = None
    starts: Annotated[int, Field(ge=1, le=1000)] = 20


class SearchAsked(JobAsked):
    """A search for the graph; if ``sure``, also how probable each arc is, over all graphs."""

    kind: Literal["search"]
    method: Literal["exact", "tree", "reinsert", "greedy", "tabu", "best-first", "anneal"] | None = None
    score: Literal["bdeu", "k2", "bic", "bge", "conditional-gaussian"] | None = None
    required: Annotated[list[Arc], Field(max_length=2000)] = []
    forbidden: Annotated[list[Arc], Field(max_length=5000)] = []
    max_parents: Annotated[int, Field(ge=1, le=100)] | None = None
    hidden: Annotated[dict[Name, Annotated[int, Field(ge=1, le=50)]], Field(max_length=20)] = {}
    starts: Annotated[int, Field(ge=1, le=1000)] | None = None
    sure: bool = False


class MixtureAsked(JobAsked):
    """A mixture of networks; without ``to`` it grows as long as that helps."""

    kind: Literal["mixture"]
    first: Annotated[int, Field(ge=1, le=100, alias="from")] = 1
    to: Annotated[int, Field(ge=1, le=100)] | None = None
    structure: Literal["learn", "tree", "empty", "complete"] | None = None
    noise: bool = False
    max_parents: Annotated[int, Field(ge=1, le=100)] | None = None


class FitAsked(JobAsked):
    """The parameters of a graph that is given by its arcs."""

    kind: Literal["fit"]
    arcs: Annotated[list[Arc], Field(max_length=20_000)] = []
    hidden: Annotated[dict[Name, Annotated[int, Field(ge=1, le=50)]], Field(max_length=20)] = {}
    method: Literal["map", "ml", "variational"] = "map"
    starts: Annotated[int, Field(ge=1, le=1000)] | None = None


class CompareAsked(JobAsked):
    """Estimates of the evidence of several models."""

    kind: Literal["compare"]
    models: Annotated[list[Key], Field(min_length=1, max_length=50)]
    methods: Annotated[
        list[Literal["bic", "cheeseman-stutz", "variational", "laplace", "sbic", "exact", "sampled", "ais"]],
        Field(min_length=1, max_length=8),
    ] = ["bic", "cheeseman-stutz"]
    held_out: bool = False


class ImputeAsked(JobAsked):
    """All holes filled: by a model, or by what columns tell of each other."""

    kind: Literal["impute"]
    model: Key | None = None
    how: Literal["mode", "mean", "draw", "probability"] = "mode"
    copies: Annotated[int, Field(ge=1, le=100)] = 1
