"""XDSL, UAI, DSC and DNE: what is written is read to the last bit; what is damaged is refused."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import lacunary as lac
from lacunary.files import dne, dsc, uai, xdsl
from tests.files.samples import DNE, DSC
from tests.reference.agrum import pyagrum
from tests.strategies import networks

MODULES = {"xdsl": xdsl, "uai": uai, "dsc": dsc, "dne": dne}


DSC_PAIR = (
    "belief network x node A { type: discrete[2] = {a, b}; } node B { type: discrete[2] = {a, b}; } "
    "probability(A) { 0.5, 0.5; } probability(B | A) {"
)
NUMBERED_NODE = "node A { numstates = 500000; probs = (1); }; "


def texts_for_states(network: lac.Network) -> lac.Network:
    """The network with states that every format can hold."""
    schema = lac.Schema(
        tuple(lac.Variable(v.name, tuple(f"s{k}" for k in range(v.size))) for v in network.dag.schema)
    )
    return lac.Network(lac.Dag(schema, network.dag.parents), np.array(network.theta))


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
@given(network=networks())
@settings(max_examples=30)
def test_what_is_written_is_read_to_the_last_bit(module: ModuleType, network: lac.Network) -> None:
    network = texts_for_states(network)
    again = module.parse(module.write(network))
    if module is uai:
        again = again.rename(dict(zip(again.dag.names, network.dag.names, strict=True)))
    assert set(again.dag.names) == set(network.dag.names)
    for name in network.dag.names:
        assert again.dag.parents_of(name) == network.dag.parents_of(name)
        np.testing.assert_array_equal(again.table(name), network.table(name))


@pytest.mark.parametrize("suffix", [".xdsl", ".uai", ".dsc", ".dne", ".uai.gz"])
def test_files_are_told_by_their_suffix(tmp_path: Path, suffix: str) -> None:
    lac.save(lac.asia(), tmp_path / f"asia{suffix}")
    found = lac.load(tmp_path / f"asia{suffix}", lac.Network)
    assert found.dag.free == 18
    (tmp_path / "wrong.bif").write_text(dsc.write(lac.asia()))
    with pytest.raises(lac.FileError, match="but found DSC; rename it"):
        lac.load(tmp_path / "wrong.bif")


@pytest.mark.parametrize("suffix", [".uai", ".xdsl"])
def test_pyagrum_reads_and_writes_tables_with_one_parent(tmp_path: Path, suffix: str) -> None:
    """Of several parents it takes the first to move fastest; both formats say it is the last."""
    network = lac.random_network(lac.dag("a -> b -> c", states={n: ["x", "y", "z"] for n in "abc"}), rng=1)
    lac.save(network, tmp_path / f"n{suffix}")
    theirs = lac.from_pyagrum(pyagrum.loadBN(str(tmp_path / f"n{suffix}")))
    first, _, last = theirs.dag.order
    # pyAgrum keeps numbers it reads in single precision.
    wanted = network.query("a", "c").probabilities
    assert theirs.query(first, last).probabilities == pytest.approx(wanted, abs=1e-6)
    pyagrum.saveBN(theirs.to_pyagrum(), str(tmp_path / f"again{suffix}"))
    again = lac.load(tmp_path / f"again{suffix}", renormalize=True)
    assert again.query(again.dag.order[0], again.dag.order[-1]).probabilities == pytest.approx(
        wanted, abs=1e-5
    )


def test_the_last_parent_moves_fastest_in_uai() -> None:
    """The format's own example of a table: p(x2 | x0, x1) for (0, 0), (0, 1), (1, 0), (1, 1)."""
    text = "BAYES 3 2 2 2 3 1 0 1 1 3 0 1 2 2 0.4 0.6 2 0.3 0.7 8 0.1 0.9 0.2 0.8 0.3 0.7 0.4 0.6"
    found = uai.parse(text)
    assert found.query("x2", given={"x0": 0, "x1": 1})[1] == pytest.approx(0.8)
    assert found.query("x2", given={"x0": 1, "x1": 0})[1] == pytest.approx(0.7)


def test_samples_of_msbn_and_netica() -> None:
    rain = dsc.parse(DSC)
    assert rain.query("Wet")["wet"] == pytest.approx(0.2 * 0.7 + 0.8 * 0.1)
    garden = dne.parse(DNE)
    assert garden.query("Wet")["wet"] == pytest.approx(0.2)  # wet exactly when it rains
    assert garden.query("Slip")["1"] == pytest.approx(0.2 * 0.5 + 0.8 * 0.2)


def test_a_deterministic_node_of_genie() -> None:
    text = (
        '<?xml version="1.0"?><!-- by hand --><smile version="1.0" id="n"><nodes>'
        '<cpt id="A"><state id="t"/><state id="f"/><probabilities>0.3 0.7</probabilities></cpt>'
        '<deterministic id="B"><state id="u"/><state id="v"/><parents>A</parents>'
        "<resultingstates>v u</resultingstates></deterministic></nodes></smile>"
    )
    assert xdsl.parse(text.encode()).query("B")["v"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        (uai, "MARKOV\n2\n2 2\n0\n", "Markov"),
        (uai, "BAYES\n1\n2\n1\n1 0\n\n2\n0.5", "needs 2 values"),
        (uai, "BAYES\n1\n2\n1\n1 7\n\n2\n0.5 0.5", "at most 0"),
        (uai, "BAYES\n99999999\n", "at most"),
        (uai, "BAYES\n2\n2 2\n1\n1 0\n\n2\n0.5 0.5", "no table"),
        (dsc, 'belief network "x" node A { type : continuous; }', "not discrete"),
        (dsc, 'belief network node A { type : discrete[2] = {"a","b"}; } probability(A) { 0.5; }', "needs 2"),
        (dsc, f"{DSC_PAIR} (0): 0.1, 0.9; (0): 0.9, 0.1; (1): 0.5, 0.5; }}", "this configuration twice"),
        (dsc, f"{DSC_PAIR} default: 0.1, 0.9; default: 0.9, 0.1; }}", "two defaults"),
        (dsc, f"{DSC_PAIR} (0): 0.1, 0.9; }}", "leaves configurations"),
        (dne, "bnet x { node A { states = (a, b); probs = (0.1, 0.9); probs = (0.9, 0.1); }; };", "twice"),
        (dne, f"bnet x {{ node A {{ states = (a, b); functable = (#{'9' * 5000}); }}; }};", "has no state"),
        (dne, f"bnet x {{ {NUMBERED_NODE * 3} }};", "limit is 1048576"),
        (uai, f"BAYES 3 {'500000 ' * 3} 3 1 0 1 1 1 2", "limit is 1048576"),
        (dne, "bnet x { node A { kind = DECISION; states = (a, b); }; };", "DECISION"),
        (dne, "bnet x { node A { states = (a, b); }; };", "no probs"),
        (dne, "bnet x { node A { states = (a, b); probs = (0.5, 0.5);", "cut short"),
        (xdsl, "<smile><nodes><utility id='u'/></nodes></smile>", "utility"),
        (xdsl, "<smile><nodes><cpt id='a'><state id='x'/></cpt></nodes></smile>", "needs 1 value"),
        (xdsl, "<!DOCTYPE s [<!ENTITY a 'b'>]><smile/>", "entity"),
        (xdsl, "<net/>", "expected <smile>"),
    ],
)
def test_what_cannot_be_read_says_why(module: ModuleType, text: str, words: str) -> None:
    with pytest.raises(lac.FileError, match=words):
        module.parse(text.encode() if module is xdsl else text)


@pytest.mark.parametrize(
    "default", ["default: 0.25, 0.75; (1): 0.5, 0.5;", "(1): 0.5, 0.5; default: 0.25, 0.75;"]
)
def test_a_default_of_dsc_is_for_what_is_left_out(default: str) -> None:
    assert dsc.parse(f"{DSC_PAIR} {default} }}").table("B").tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_a_deterministic_node_with_many_states_needs_no_square_of_them() -> None:
    """A square of 50 000 states by as many would take 20 GB."""
    many = 50_000
    outcomes = "".join(f"<state id='s{k}'/>" for k in range(many))
    text = (
        f"<smile><nodes><deterministic id='A'>{outcomes}<resultingstates>s7</resultingstates>"
        "</deterministic></nodes></smile>"
    )
    for found in (
        xdsl.parse(text.encode()),
        dne.parse(f"bnet x {{ node A {{ numstates = {many}; functable = (#7); }}; }};"),
    ):
        assert np.flatnonzero(found.table("A")).tolist() == [7]


@pytest.mark.parametrize("module", [xdsl, dne], ids=["xdsl", "dne"])
def test_names_that_a_program_cannot_read_are_refused(module: ModuleType) -> None:
    odd = lac.random_network(lac.dag('"a b" -> c'))
    with pytest.raises(lac.FileError, match="cannot hold the name"):
        module.write(odd)


def test_evidence_and_results_of_uai() -> None:
    asia = lac.asia()
    given_states: dict[str, Any] = {"smoke": "yes", "dysp": "no"}
    text = lac.write_uai_evidence(asia, given_states)
    assert text == "2 2 0 7 1\n"
    assert lac.uai_evidence(text, asia) == given_states
    words = lac.uai_marginals(asia, given_states).split()
    assert words[:3] == ["MAR", "8", "2"]
    assert float(words[3]) == asia.query("asia", given=given_states).probabilities[0]
    with pytest.raises(lac.FileError, match="a state of smoke"):
        lac.uai_evidence("1 2 9", asia)
