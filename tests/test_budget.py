"""One budget of memory: asked before anything large is allocated, and named where it does not suffice."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import tracemalloc
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary import budget
from lacunary.budget import budgeted, reserve, room, said
from lacunary.data import bounded
from lacunary.dependency.softmax import softmax
from lacunary.errors import BudgetError, FileError, ParameterError
from lacunary.structure.constraints import Constraints


@pytest.fixture(autouse=True)
def looked_anew() -> None:
    budget._looked.clear()


def groups(monkeypatch: pytest.MonkeyPatch, folder: Path, own: str, files: dict[str, str]) -> int:
    """What control groups leave, where the process's own and these files are as given."""
    (folder / "self").mkdir()
    (folder / "self" / "cgroup").write_text(own)
    for name, text in files.items():
        (folder / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "fs" / name).write_text(text)
    monkeypatch.setattr(budget, "PROCESS", folder / "self")
    monkeypatch.setattr(budget, "CONTROL_GROUPS", folder / "fs")
    return min(budget._groups(), default=-1)


STAT = "anon 1\ninactive_file 50\ntotal_inactive_file 60\n"


@pytest.mark.parametrize(
    ("own", "files", "left"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "1000", "a/b/memory.current": "300", "a/b/memory.stat": STAT}, 750),
        (
            "0::/a/b\n",
            {
                "a/b/memory.max": "max",
                "a/b/memory.current": "1",
                "a/memory.max": "900",
                "a/memory.current": "100",
            },
            800,
        ),
        ("0::/../x\n", {"memory.max": "1000", "memory.current": "1"}, 999),
        ("0::/gone\n", {"memory.max": "1000", "memory.current": "1"}, 999),
        (
            "4:memory:/m\n0::/\n",
            {
                "memory/m/memory.limit_in_bytes": "500",
                "memory/m/memory.usage_in_bytes": "100",
                "memory/m/memory.stat": STAT,
                "memory/memory.limit_in_bytes": str(2**63 - 4096),
                "memory/memory.usage_in_bytes": "7",
            },
            460,
        ),
        ("4:cpu,memory:/\n", {"memory/memory.limit_in_bytes": "5", "memory/memory.usage_in_bytes": "1"}, 4),
        ("nonsense\n", {}, -1),
        ("0::/\n", {"memory.max": "many", "memory.current": ""}, -1),
    ],
)
def test_the_own_group_and_those_above_it_are_asked(
    own: str, files: dict[str, str], left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert groups(monkeypatch, tmp_path, own, files) == left


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2GB", 2 * 10**9),
        ("2 GiB", 2 * 2**30),
        ("500MiB", 500 * 2**20),
        ("1.5kb", 1500),
        (3e9, 3 * 10**9),
        ("1e9", 10**9),
    ],
)
def test_limits_in_words(text: Any, count: int) -> None:
    assert budget.parsed(text, "here") == count


@pytest.mark.parametrize(
    "text", ["", "many", "-1", "0", "2 XB", "1.2.3GB", True, float("nan"), float("inf"), "1e300"]
)
def test_what_is_no_limit_is_refused(text: Any) -> None:
    with pytest.raises(ParameterError, match="a limit of memory is a text such as '2 GB'"):
        lac.memory(text)


def test_the_limit_holds_for_the_process_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        budget, "_machine", lambda: iter([10**11])
    )  # what others take and give does not count
    monkeypatch.setattr(budget, "_groups", lambda: iter(()))
    monkeypatch.setattr(budget, "_address_space", lambda: iter(()))
    with lac.memory("1 TB"):
        assert lac.memory() == 10**11  # never more than there is
    resident = budget._resident()
    with lac.memory(resident + 200 * 2**20):
        assert abs(lac.memory() - 200 * 2**20) < 50 * 2**20  # the process grows a little while it looks
        with pytest.raises(
            BudgetError, match=r"a thing would need about 300 MB of memory, and .* can be had; no"
        ):
            reserve(300e6, "a thing", "no")
        reserve(10e6, "a small thing", "yes")
    assert room() > 300 * 2**20
    monkeypatch.setenv("LACUNARY_MEMORY", "10 MB")
    budget._looked.clear()
    assert room() == budget.SMALL
    monkeypatch.setenv("LACUNARY_MEMORY", "tea")
    budget._looked.clear()
    with pytest.raises(ParameterError, match="LACUNARY_MEMORY"):
        room()


def test_words_of_sizes() -> None:
    assert [said(2e12), said(22.4e9), said(3e6), said(1500)] == ["2 TB", "22.4 GB", "3 MB", "1.5 kB"]


def test_a_verb_names_what_ran_out() -> None:
    @budgeted
    def verb() -> None:
        np.empty(2**50, dtype=np.int64)

    with pytest.raises(BudgetError, match=r"verb: memory ran out \(Unable to allocate 8") as said_so:
        verb()
    assert isinstance(said_so.value, MemoryError | ValueError)


HOLED = {"a": ["x", "y", None, "x"], "b": ["u", "v", "u", None]}
HEAVY = lac.read({"a": ["x", "y"] * 2, "b": ["u", "v", "v", "u"]}, weights=[1e12] * 4)
ONE = {name: [None] for name in lac.asia().dag.names}
MANY: Any = range(10**6)
WIDE = {f"P{i}": 2 for i in range(40)} | {"C": 2}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda: lac.naive_bayes(lac.house_votes().schema, hidden="h", states=10**9),
            "1000000000 states of h",
        ),
        (lambda: lac.dag("a -> b", states={"a": 10**10}), "10000000000 states of a"),
        (lambda: lac.asia().sample(99_999_999_999), "99999999999 rows of 8 variables"),
        (lambda: lac.asia().sample(99_999_999_999, given={"smoke": "yes"}), "99999999999 rows"),
        (
            lambda: lac.random_network(
                lac.dag(f"{' '.join(WIDE)} -> C".replace(" C ->", " ->"), states=WIDE)
            ),
            "2199023255632 par",
        ),
        (
            lambda: lac.fit(
                lac.dag(f"{' '.join(WIDE)} -> C".replace(" C ->", " ->"), states=WIDE),
                {name: ["0", "1"] for name in WIDE},
            ),
            r"the families of this graph have 2\.2e\+12 cells",
        ),
        (lambda: lac.impute(HOLED, how="draw", copies=10**10), "10000000000 chains over 4 rows"),
        (lambda: lac.impute(lac.asia(), ONE, how="draw", copies=10**12), "1000000000000 rows of 8 variables"),
        (lambda: lac.average_graphs(HEAVY, draws=2), r"4e\+12 rows one by one"),
        (lambda: lac.average_graphs(HOLED, draws=10**11), "100000000000 networks"),
        (lambda: lac.arc_probabilities(HOLED, chains=10**11, method="sampling"), "100000000000 chains"),
        (lambda: lac.fit_mixture(HEAVY, components=10**11), "a mixture of 100000000000 components"),
        (lambda: Constraints.of(MANY), "a search over 1000000 variables"),
        (
            lambda: softmax(np.zeros((4, 3)), np.zeros(4, dtype=np.int64), 10**6, 1.0),
            "of 1000000 states on 4",
        ),
    ],
    ids=[
        "states",
        "states of a graph",
        "rows",
        "rows given",
        "table drawn",
        "table fitted",
        "chains",
        "copies",
        "weights",
        "graphs",
        "chains over graphs",
        "components",
        "pairs of variables",
        "regressions",
    ],
)
def test_what_never_fits_is_refused_at_once(what: Any, message: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BudgetError, match=message):
            what()
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_draws_of_graphs_take_room_as_they_come() -> None:
    """No more than is drawn, whatever the most is that is asked for; an interrupt keeps what there is."""

    def stop(done: int, steps: int) -> None:
        if done >= 400:  # chains without parameters take many steps between two words
            raise KeyboardInterrupt

    tracemalloc.start()
    try:
        found = lac.arc_probabilities(
            HOLED, chains=2, draws=10**11, error=1e-9, method="sampling", watch=stop
        )
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert 0 < found.draws < 400


VERBS = (
    *(lac.arc_probabilities, lac.average_effect, lac.bootstrap_lrt, lac.class_covariates, lac.class_outcome),
    *(lac.class_report, lac.delta_adjusted, lac.learn_dependencies, lac.loo, lac.missingness),
    *(lac.mutual_information, lac.parameter_sensitivity, lac.query_class, lac.sensitivity),
    *(lac.value_of_observation, lac.average_graphs, lac.fit, lac.search, lac.fit_mixture, lac.classes),
)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_verb_that_works_on_rows_names_a_lack_of_memory(
    verb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that ends before anything is done, as it may anywhere."""

    def lacking() -> None:
        raise MemoryError

    monkeypatch.setattr(budget, "check_engine", lacking)
    with pytest.raises(BudgetError, match=f"{verb.__name__}: memory ran out"):
        verb()


def test_inference_asks_the_same_budget() -> None:
    names = [f"H{i}" for i in range(22)]
    graph = lac.dag(f"{' '.join(names)} -> C", states=2, hidden=names)
    with lac.memory(budget._resident() + 100 * 2**20), pytest.raises(BudgetError, match=r"about 268 MB"):
        lac.fit(graph, {"C": [0]})  # four vectors of 2²³ numbers


@pytest.mark.parametrize(
    "verb", [lac.fit, lac.search, lac.fit_mixture, lac.score, lac.compare, lac.classes, lac.impute]
)
def test_a_verb_has_a_limit_of_its_own(verb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def inner(*args: Any, **options: Any) -> None:
        seen.append(room())
        raise MemoryError

    assert "memory" in signature(verb).parameters
    limited = budgeted(inner)
    monkeypatch.setattr(budget, "_resident", lambda: 0)
    with pytest.raises(BudgetError, match="memory ran out"):
        limited(memory="100 MB")
    assert seen == [10**8]
    assert budget._set == []  # it comes back, although the verb failed


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        RuntimeError("can't allocate read lock"),
        AttributeError("'Forest' object has no attribute '__class__'"),
        SystemError("<function> returned NULL without setting an exception"),
    ],
)
def test_what_libraries_call_a_lack_of_memory_is_one(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a verb's work, while it looks whether the engine has room, and while room is looked for."""

    def fails(*given: Any) -> Any:
        raise problem

    with pytest.raises(BudgetError, match="memory ran out"):
        budgeted(fails)()
    with monkeypatch.context() as patch:
        patch.setattr(budget, "check_engine", fails)
        with pytest.raises(BudgetError, match="memory ran out"):
            budgeted(lambda: 1)()
    if not isinstance(problem, SystemError | AttributeError):
        monkeypatch.setattr(budget, "_rooms", fails)
        monkeypatch.setattr(budget, "_looked", [])
        assert room() == budget.SMALL


def test_other_problems_stay_what_they_are() -> None:
    def fails() -> None:
        raise RuntimeError("an exception of another kind")

    with pytest.raises(RuntimeError, match="another kind"):
        budgeted(fails)()


def test_a_verb_keeps_to_its_limit() -> None:
    names = [f"H{i}" for i in range(22)]
    graph = lac.dag(f"{' '.join(names)} -> C", states=2, hidden=names)
    with pytest.raises(BudgetError, match=r"about 268 MB"):
        lac.fit(graph, {"C": [0]}, memory=budget._resident() + 100 * 2**20)


def test_questions_ask_the_same_budget() -> None:
    """Ten thousand open variables are a square of pairs: five bytes each before the first table."""
    many = 10_000
    chain = lac.random_network(lac.dag("; ".join(f"v{i} -> v{i + 1}" for i in range(many - 1)), states=2))
    with lac.memory(budget._resident() + 100 * 2**20):
        with pytest.raises(
            BudgetError, match="an order of 10000 unobserved variables would need about 500 MB"
        ):
            chain.query(f"v{many - 1}", exact=True)
        assert chain.query("v9", given={"v7": 0}).probabilities.sum() == pytest.approx(1.0)


# Files


def test_a_bomb_is_refused_before_it_bursts(tmp_path: Path) -> None:
    """80 MB of one letter pack into a hundred kilobytes; they are refused after the first 64."""
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"a,b\n")
        for _ in range(80):
            file.write((b"x" * 10_000 + b",y\n") * 105)
    with pytest.raises(FileError, match="unpacks to more than 400 times its size; unpack it first"):
        lac.read(path)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "LINE", 2**20)
    path = tmp_path / "line.csv"
    path.write_text("a,b\n1,2\n" + "3," * 2**20 + "\n")
    with pytest.raises(FileError, match=r"line\.csv: a line of more than 1048576 bytes"):
        lac.read(path)


def test_reading_stops_where_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "STRIDE", 2**20)
    monkeypatch.setattr(bounded, "reserve", lambda needed, what, advice: reserve(1e15, what, advice))
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "0.25\n" * 2**19)
    with pytest.raises(BudgetError, match=r"long\.csv: going on to read it would need"):
        lac.read(path)


def test_a_packed_model_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" * 80 * 2**20))
    with pytest.raises(FileError, match="unpacks to more than 400 times"):
        lac.load(path)


def test_a_parquet_file_of_one_value_is_estimated(tmp_path: Path) -> None:
    """Ten thousand million equal cells are a few kilobytes in the file."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, rows = tmp_path / "same.parquet", 2**21
    parquet.write_table(pa.table({f"c{i}": pa.array(np.zeros(rows)) for i in range(8)}), path)
    with (
        lac.memory(budget._resident() + 40 * 2**20),
        pytest.raises(BudgetError, match="its table would need about 134 MB"),
    ):
        lac.read(path)


# The prompt


def prompt(*arguments: str, most: int | None = None, **environment: str) -> tuple[int, str]:
    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    ran = subprocess.run(
        [sys.executable, "-m", "lacunary", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_little_address_space_is_named_at_once() -> None:
    code, err = prompt("fit", "house_votes", "--hidden", "h=2", most=400_000_000, OPENBLAS_NUM_THREADS="2")
    assert code == 1
    assert "loading compiled code would need about 671 MB of address space" in err


def test_the_prompt_has_the_limit() -> None:
    code, err = prompt("sample", "asia", "--rows", "5000000", "--memory", "300MB", "--out", "x.csv")
    assert code == 1
    assert "5000000 rows as text would need about 4 GB" in err
