"""Whatever is public and holds numbers can be copied, pickled and sent away, and answers the same there."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import Table
from lacunary.infer.engine import prepare_discrete
from lacunary.infer.rows import Rows, prepare
from lacunary.report.search_page import found_page

ROOT = Path(__file__).parents[2]

KINDS: Any = {"x": "continuous"}


@cache
def table() -> Table:
    """Rows of Asia with holes."""
    return lac.make_holes(lac.asia().sample(80, rng=1), 0.2, rng=2)


@cache
def mixed_table() -> Table:
    network = lac.random_network(lac.dag("A -> B x; B -> x", states=2, kinds=KINDS), rng=3)
    return lac.make_holes(network.sample(60, rng=4), 0.1, rng=5)


def _theta(prepared: Rows) -> NDArray[np.float64]:
    return lac.random_network(prepared.dag, rng=0).theta[None]


def _swept(prepared: Rows) -> list[Any]:
    theta = _theta(prepared)
    return [
        prepared.expect(theta).counts,
        prepared.expect(theta).log_likelihood,
        prepared.log_evidence(theta),
        prepared.log_evidence(np.repeat(theta, 3, 0)),
    ]


def _laid(dag: lac.Dag, rows: Table) -> Rows:
    """A preparation that has been used, so that it keeps all that it keeps."""
    prepared = prepare(dag, rows.align(dag.schema))
    _swept(prepared)
    return prepared


def _mixture(rows: Table) -> Any:
    return lac.fit_mixture(rows, components=[2], structure="empty", rng=0)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], list[Any]]]] = {
    "dag": (lambda: lac.asia().dag, lambda dag: [lac.random_network(dag, rng=1).theta]),
    "table": (table, lambda rows: [rows.codes, rows.weights, rows.distinct.inverse, rows.holes]),
    "network": (lac.asia, lambda network: [network.log_probability(table())]),
    "mixed network": (
        lambda: lac.random_network(lac.dag("A -> x", states=2, kinds=KINDS), rng=1),
        lambda network: [network.theta, network.query("A", given={"x": 0.5}).probabilities],
    ),
    "belief": (lambda: lac.bdeu(2.0)(lac.asia().dag), lambda belief: [belief.mean()]),
    "prepared": (lambda: _laid(lac.asia().dag, table()), _swept),
    "weighed": (
        lambda: _laid(lac.asia().dag, table()).weighed(np.linspace(0.0, 2.0, len(table()))),
        _swept,
    ),
    "mixed prepared": (
        lambda: _laid(lac.dag("A -> B x; B -> x", schema=mixed_table().schema), mixed_table()),
        _swept,
    ),
    "stats": (
        lambda: lac.expect(lac.asia(), table()),
        lambda stats: [stats.table("lung"), stats.log_likelihood],
    ),
    "fit": (
        lambda: lac.fit(lac.asia().dag, table(), rng=0, stop=lac.Stop(iterations=5)),
        lambda found: [found.network.log_probability(table()), *(start.objective for start in found.starts)],
    ),
    "estimate": (lambda: lac.score(lac.asia().dag, table(), rng=0), lambda found: [found.value]),
    "comparison": (
        lambda: lac.compare(
            [lac.asia().dag, lac.dag("smoke -> lung", schema=table().schema)], table(), rng=0
        ),
        lambda found: [
            found.average().log_probability(table()),
            *(one.value for of in found.estimates.values() for one in of.values()),
        ],
    ),
    "search": (
        lambda: lac.search(lac.asia().sample(60, rng=1)),
        lambda found: [found.score, found.network.theta],
    ),
    "structural EM": (
        lambda: lac.search(table(), rng=0),
        lambda found: [found.score, found.network.theta],
    ),
    "mixture": (
        lambda: _mixture(table()),
        lambda found: [
            found.mixture.log_probability(table()),
            found.predict(table(), draws=10, burn=1).log_density,
            found.predict(table(), how="variational").log_density,
        ],
    ),
    "mixed mixture": (
        lambda: _mixture(mixed_table()),
        lambda found: [found.mixture.log_probability(mixed_table())],
    ),
    "ensemble": (
        lambda: lac.average_graphs(lac.asia().sample(60, rng=1)),
        lambda found: [found.log_probability(table())],
    ),
    "sampled": (
        lambda: lac.posterior_mean(lac.asia().dag, table(), draws=5, rng=0),
        lambda found: [found.draws],
    ),
    "dimension": (
        lambda: lac.dimension(lac.dag("H -> A B C", states=2, hidden="H")),
        lambda found: [found.rank],
    ),
}


def used(name: str, held: Any) -> list[NDArray[np.float64]]:
    """What an object answers."""
    return [np.asarray(one, dtype=np.float64) for one in CASES[name][1](held)]


def _whole(held: Any) -> bytes:
    """A pickle with the rows that predictions from a mixture need."""
    with lac.keep_rows():
        return pickle.dumps(held)


def _used_all(pickled: bytes) -> dict[str, list[NDArray[np.float64]]]:
    return {name: used(name, held) for name, held in pickle.loads(pickled).items()}


@cache
def _made() -> tuple[dict[str, Any], dict[str, list[NDArray[np.float64]]]]:
    """All objects, and what they answer; asked first, so that they keep what they keep once used."""
    held = {name: make() for name, (make, _) in CASES.items()}
    return held, {name: used(name, one) for name, one in held.items()}


def _same(found: list[NDArray[np.float64]], name: str) -> None:
    for one, other in zip(found, _made()[1][name], strict=True):
        np.testing.assert_array_equal(one, other, strict=True)  # the same code on the same numbers


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", [copy.deepcopy, lambda held: pickle.loads(_whole(held))])
def test_copies_answer_the_same(name: str, way: Callable[[Any], Any]) -> None:
    held = _made()[0][name]
    copied = way(held)
    _same(used(name, copied), name)
    _same(used(name, held), name)  # and the one that was copied is not touched


def test_pickles_answer_the_same_in_a_spawned_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answers = pool.apply(_used_all, (_whole(_made()[0]),))
    for name in CASES:
        _same(answers[name], name)


def test_pickles_answer_the_same_in_a_new_interpreter(tmp_path: Path) -> None:
    given, taken = tmp_path / "given", tmp_path / "taken"
    given.write_bytes(_whole(_made()[0]))
    code = (
        "import pathlib, pickle, sys; from tests.laws.test_copies import _used_all; "
        "pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(_used_all(pathlib.Path(sys.argv[1]).read_bytes())))"
    )
    subprocess.run([sys.executable, "-c", code, str(given), str(taken)], check=True, cwd=ROOT)
    answers = pickle.loads(taken.read_bytes())
    for name in CASES:
        _same(answers[name], name)


def test_working_memory_and_layouts_are_not_pickled() -> None:
    fresh = prepare_discrete(lac.asia().dag, table().align(lac.asia().dag.schema))
    _swept(fresh)
    assert fresh._spare
    pickled = pickle.dumps(fresh)
    assert not pickle.loads(pickled)._spare
    arrays = sum(chunk.arena.nbytes + chunk.weight.nbytes for chunk in fresh.packed.chunks)
    arrays += fresh.packed.arena.nbytes + fresh.packed.codes.nbytes + fresh.inverse.nbytes
    assert len(pickled) < 1.5 * arrays + 5_000  # each array once; the graph and the scopes are small
    rows = table()
    assert len(pickle.dumps(rows)) == len(pickle.dumps(Table(rows.schema, rows.codes, weights=rows.weights)))


def test_copies_of_a_table_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        copy.deepcopy(table()).codes[0, 0] = 0


LEARNED = (
    "fit",
    "network",
    "ensemble",
    "sampled",
    "estimate",
    "search",
    "structural EM",
    "comparison",
    "mixture",
)


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_learned_is_pickled_without_rows(name: str) -> None:
    pickled = pickle.dumps(_made()[0][name])
    assert b"Rows" not in pickled
    assert b"lacunary.data.table" not in pickled


@pytest.mark.parametrize("name", ["search", "structural EM", "comparison"])
def test_pickles_without_rows_answer_the_same(name: str) -> None:
    lean = pickle.loads(pickle.dumps(_made()[0][name]))
    _same(used(name, lean), name)
    _same(used(name, pickle.loads(pickle.dumps(lean))), name)  # and once more


def test_a_search_pickled_without_rows_keeps_its_rounds_and_its_page() -> None:
    found = lac.search(lac.asia().sample(60, rng=1))
    lean = pickle.loads(pickle.dumps(found))
    assert lean.rounds == found.rounds
    assert found_page(lean) == found_page(found)
    assert len(lean.table) == 60


def test_classes_are_pickled_without_rows_and_print_the_same() -> None:
    rows = lac.asia().sample(60, rng=1)
    found = lac.classes(rows.select(["smoke", "bronc", "dysp", "xray"]), aside="xray", components=2, starts=2)
    pickled = pickle.dumps(found)
    assert b"lacunary.data.table" not in pickled
    lean = pickle.loads(pickle.dumps(pickle.loads(pickled)))  # and once more
    assert str(lean) == str(found)
    assert lean.to_dict() == found.to_dict()
    assert lean.assign(rows) == found.assign(rows) == found.assign()
    with pytest.raises(lac.SourceError, match="60 rows that this was learned from"):
        lean.assign()
    assert pickle.loads(_whole(found)).assign() == found.assign()


def test_what_needs_the_rows_left_behind_says_so() -> None:
    lean = pickle.loads(pickle.dumps(_made()[0]["mixture"]))
    assert lean.predict(table(), how="plug-in").log_density.shape == (len(table()),)
    with pytest.raises(lac.ParameterError, match="keep_rows"):
        lean.predict(table())
    found = pickle.loads(pickle.dumps(lac.search(table(), rng=0)))
    with pytest.raises(lac.SourceError, match="80 rows that this was learned from"):
        lac.fit(found.dag, found.table)


def test_views_of_a_chunk_share_the_memory_of_its_arena() -> None:
    packed = _made()[0]["prepared"].packed
    for array in packed.kinds:
        assert array.size == 0 or np.shares_memory(array, packed.arena)
    for chunk in packed.chunks:
        for array in (*chunk.slab._replace(weight=chunk.slab.kind), *chunk.spots):
            assert array.size == 0 or np.shares_memory(array, chunk.arena)
