"""A network as a page: its own engine says what Python's does, and nothing in it is markup but ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.workbench.page import STATIC, embedded

NODE = shutil.which("node")

ASK = """
const fs = require("fs");
const code = fs.readFileSync(process.argv[1], "utf8");
(0, eval)(code.replace(/^(var|let|const) LacunaryEngine/, "globalThis.LacunaryEngine"));
const { Engine } = globalThis.LacunaryEngine;
const out = JSON.parse(fs.readFileSync(0, "utf8")).map(({ net, given }) => {
  const engine = new Engine(net);
  return given.map((one) => {
    try { return { ...engine.ask(one), best: engine.explain(one) }; }
    catch (problem) { return { error: problem.message }; }
  });
});
console.log(JSON.stringify(out));
"""


def discrete(rng: np.random.Generator, zeros: bool) -> lac.Network:
    """Return a random network of up to nine variables, with states that cannot be if ``zeros``."""
    many = int(rng.integers(2, 10))
    schema = lac.Schema(
        tuple(lac.Variable(f"v{i}", tuple(f"s{k}" for k in range(rng.integers(1, 5)))) for i in range(many))
    )
    order = rng.permutation(many)
    arcs = [
        (f"v{order[i]}", f"v{order[j]}") for j in range(many) for i in range(j) if rng.random() < 2.2 / many
    ]
    network = lac.random_network(lac.Dag.from_arcs(schema, arcs), rng=rng)
    if not zeros:
        return network
    tables = {}
    for name, table in network.tables.items():
        cut = np.where(
            (rng.random(table.shape) < 0.25) & (table < table.max(axis=-1, keepdims=True)), 0.0, table
        )
        tables[name] = cut / cut.sum(axis=-1, keepdims=True)
    return lac.Network.from_tables(network.dag, tables)


def mixed(rng: np.random.Generator) -> lac.Network:
    """Return a random network of states and numbers, these given by linear regressions."""
    kinds: list[lac.Variable] = []
    for i in range(int(rng.integers(2, 7))):
        states = ("a", "b", "c")[: rng.integers(2, 4)]
        number = lac.Variable(f"v{i}", kind="continuous")
        kinds.append(lac.Variable(f"v{i}", states) if rng.random() < 0.5 else number)
    arcs = [
        (kinds[i].name, kinds[j].name)
        for j in range(len(kinds))
        for i in range(j)
        if (kinds[i].discrete or not kinds[j].discrete) and rng.random() < 0.5
    ]
    return lac.random_network(lac.Dag.from_arcs(lac.Schema(tuple(kinds)), arcs), rng=rng)


def findings(network: lac.Network, rng: np.random.Generator) -> tuple[dict[str, Any], dict[int, Any]]:
    """Return evidence as Python and as the page take it: states, likelihoods and values from a drawn row."""
    row = network.sample(1, rng)
    ours: dict[str, Any] = {}
    theirs: dict[int, Any] = {}
    for i, v in enumerate(network.dag.schema):
        if rng.random() > 0.45:
            continue
        if not v.discrete:
            value = float(row[v.name][0])
            ours[v.name], theirs[i] = value, {"value": value}
        elif rng.random() < 0.3:
            likelihood = rng.random(v.size).tolist()
            ours[v.name], theirs[i] = dict(zip(v.states, likelihood, strict=True)), {"likelihood": likelihood}
        else:
            state = row[v.name][0]
            ours[v.name], theirs[i] = state, {"state": v.code[state]}
    return ours, theirs


@pytest.mark.skipif(NODE is None, reason="Node runs the page's engine, and there is none")
def test_the_engine_of_the_page_equals_that_of_python() -> None:
    """120 random networks with three sets of findings each.

    Both are exact up to rounding: 1e-9 leaves a thousand times what some hundred multiplications lose.
    """
    rng = np.random.default_rng(7)
    networks = [mixed(rng) if k % 3 == 0 else discrete(rng, zeros=k % 3 == 1) for k in range(120)]
    cases = [[findings(network, rng) for _ in range(3)] for network in networks]
    asked = [
        {"net": embedded(network, "x"), "given": [theirs for _, theirs in case]}
        for network, case in zip(networks, cases, strict=True)
    ]
    done = subprocess.run(
        [str(NODE), "-e", ASK, str(STATIC / "engine.js")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    for network, case, answers in zip(networks, cases, json.loads(done.stdout), strict=True):
        for (given, _), found in zip(case, answers, strict=True):
            compare(network, given, found)


def compare(network: lac.Network, given: dict[str, Any], found: dict[str, Any]) -> None:
    """Compare what the page says with what Python says."""
    engine = network.engine(given)
    assert found["log_probability"] == pytest.approx(engine.log_probability, abs=1e-9, rel=1e-9)
    for v, answer in zip(network.dag.schema, found["marginals"], strict=True):
        expected = engine.query(v.name)
        if v.discrete:
            assert np.allclose(answer["p"], expected.probabilities, rtol=0, atol=1e-9)
        else:
            scale = 1 + abs(float(expected.mean)) + float(expected.sd)
            assert answer["mean"] == pytest.approx(float(expected.mean), abs=1e-9 * scale)
            # A standard deviation is a root: what is lost in a variance shows as its root near zero.
            assert answer["sd"] == pytest.approx(float(expected.sd), abs=1e-7 * scale)
    if not network.dag.continuous:
        states = {v.name: v.states[found["best"][str(i)]["state"]] for i, v in enumerate(network.dag.schema)}
        soft = {name: finding for name, finding in given.items() if isinstance(finding, dict)}
        ours, theirs = (
            network.log_density(best) + sum(np.log(soft[n][best[n]]) for n in soft)
            for best in (engine.explain(), states)
        )
        assert theirs == pytest.approx(ours, abs=1e-9)  # of several that are equally probable, any will do


def test_names_are_text_in_a_page(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>"
    network = lac.random_network(lac.Dag.from_arcs(lac.Schema((lac.Variable(hostile, (hostile, "b")),)), []))
    html = network.page(tmp_path / "page.html", title=hostile)
    assert html == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert hostile not in html
    assert html.count("<script") == 3


def test_a_page_asks_for_nothing_else() -> None:
    html = lac.asia().page(title="Chest clinic")
    assert "default-src 'none'" in html
    assert "src=" not in html.partition("<style>")[0]
    assert len(html) < 200_000


def test_networks_that_a_page_cannot_take() -> None:
    counts = lac.read({"n": [1.0, 2.0, 3.0] * 5}, kinds="continuous")
    poisson = lac.fit(lac.Dag.from_arcs(counts.schema, [], family={"n": "poisson"}), counts).network
    with pytest.raises(lac.ParameterError, match="poisson"):
        poisson.page()
    wide = lac.Schema(tuple(lac.Variable(f"v{i}", tuple("abcdefgh")) for i in range(9)))
    arcs = [(f"v{i}", f"v{j}") for j in range(1, 9) for i in (0, j - 1)]
    hub = lac.Dag.from_arcs(wide, sorted(set(arcs)))
    assert lac.random_network(hub).page()  # narrow: every clique has three variables
    pairs = lac.Schema((*wide, *(lac.Variable(f"c{i}{j}", ("y", "n")) for i in range(9) for j in range(i))))
    dense = [(f"v{i}", f"c{a}{b}") for a in range(9) for b in range(a) for i in (a, b)]
    with pytest.raises(lac.TooWideError, match="too many for a page"):
        lac.random_network(lac.Dag.from_arcs(pairs, dense)).page()


def test_a_widget_needs_anywidget_or_shows_what_is_given() -> None:
    try:
        import anywidget  # noqa: F401
    except ImportError:
        with pytest.raises(lac.ParameterError, match="lacunary\\[widget\\]"):
            lac.asia().widget()
        return
    shown = lac.asia().widget({"smoke": "yes", "xray": {"yes": 0.5, "no": 1.0}})
    assert shown.given == {"smoke": "yes", "xray": {"yes": 0.5, "no": 1.0}}
    assert shown.findings["smoke"] == {"state": 0}
