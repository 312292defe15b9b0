"""Mutants: small changes of meaning in the code, each of which some test must notice.

A mutant is one changed operator or number in one function. The tests of a package run once, in a process of
their own, which notes the lines that each comes to. Then each mutant is made in a copy of that process, by
giving the function another code object, and the tests that come to its line are run, the fastest first, until
one fails. A mutant that all of them pass has survived, and is a failure unless ``survivors.txt`` says why no
test can tell it from the original.
"""

from __future__ import annotations

import ast
import copy
import functools
import gc
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import islice
from math import ceil
from pathlib import Path
from time import process_time
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from tests.campaign.run import Campaign, Found

BATCH = 17
"""Mutants of a piece."""

SHORT, ENOUGH = 4.0, 15.0
"""Seconds of the processor that a test may take to be used here, and the tests of one mutant together."""

PLAIN = "kernels"
"""The package whose functions are compiled: its mutants run as plain Python."""

GROUPS: dict[str, tuple[str, str]] = {
    "kernels": (
        "swept gaussian graph walk islands island_tables island_counts island_terms impute count families "
        "complete normalize logs",
        "kernels/test_swept kernels/test_gaussian kernels/test_graph kernels/test_walk kernels/test_islands "
        "kernels/test_impute kernels/test_count kernels/test_plain kernels/test_rows structure/test_gaussian "
        "infer/test_extremes structure/test_threads",
    ),
    "maths": (
        "special regression normal_wishart pareto mixing moments",
        "maths/test_special maths/test_regression maths/test_normal_wishart maths/test_pareto "
        "maths/test_mixing test_edges",
    ),
    "family": (
        "regression poisson uniform sigmoid",
        "family/test_poisson family/test_uniform family/test_sigmoid learn/test_mixed_fit "
        "infer/test_predictive infer/test_normal_divergence infer/test_divergence "
        "evidence/test_mixed_laplace evidence/test_hessian",
    ),
    "evidence": (
        "exact laplace symmetry share",
        "evidence/test_exact evidence/test_laplace evidence/test_symmetry evidence/test_share "
        "evidence/test_given evidence/test_compare evidence/test_mixed_laplace "
        "evidence/test_mixed_estimates evidence/test_estimates family/test_uniform",
    ),
    "structure": (
        "climb board prior schedule discrete counter gaussian",
        "structure/test_board structure/test_structure_prior structure/test_schedule "
        "structure/test_discrete structure/test_gaussian structure/test_climb structure/test_search "
        "structure/test_gaussian_search",
    ),
    "mixture": (
        "sparse noise begin evidence",
        "mixture/test_sparse mixture/test_noise mixture/test_begin mixture/test_prior "
        "mixture/test_evidence mixture/test_discrete mixture/test_mixed infer/test_mixture_answers",
    ),
}
"""Packages: modules that are changed, and files of tests."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
WORKED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """A function, what stands in it, and what is put in its place."""

    module: str
    function: str
    place: int
    before: str
    after: str
    line: str
    lines: range

    def __str__(self) -> str:
        return f"{self.module} {self.function}: {self.before} → {self.after} in {self.line}"


def work(rng: np.random.Generator, index: int) -> Found:
    """Make some mutants of the next package; which ones does not depend on the seed, and none comes twice."""
    group, first = list(GROUPS)[index % len(GROUPS)], BATCH * (index // len(GROUPS))
    alone = {"LACUNARY_THREADS": "1", "OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "quick"}
    plain = {"NUMBA_DISABLE_JIT": "1"} if group == PLAIN else {}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.campaign.mutants", group, str(first), str(BATCH)],
        capture_output=True,
        text=True,
        env={**os.environ, **alone, **plain},
    )
    assert ran.returncode == 0, ran.stderr[-400:]
    told = json.loads(ran.stdout.splitlines()[-1])
    survived = [each for each in told["survived"] if each not in survivors()]
    if survived:
        raise AssertionError(f"{len(survived)} of {told['made']} survived: {'; '.join(survived)}")
    return Found(told["made"])


def chosen(group: str) -> list[tuple[Mutant, int]]:
    """Return all mutants of a package, with their numbers in their modules, in a fixed mixed order."""
    every = []
    for k, name in enumerate(GROUPS[group][0].split()):
        mutants = _mutants(f"{group}.{name}")
        drawn = np.random.default_rng(len(name)).permutation(len(mutants))
        every += [(turn, k, mutants[number], int(number)) for turn, number in enumerate(drawn)]
    return [(mutant, number) for _, _, mutant, number in sorted(every, key=lambda each: each[:2])]


@cache
def survivors() -> frozenset[str]:
    """Return the mutants of which ``survivors.txt`` says why no test can tell them from the original."""
    text = Path(__file__).with_name("survivors.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith(("#", " ")))


@cache
def _mutants(module: str) -> list[Mutant]:
    return [mutant for mutant, _ in made(module)]


def made(module: str) -> Iterator[tuple[Mutant, Callable[[], ast.Module]]]:
    """Yield every mutant of a module, with what makes its tree."""
    text = Path(_source(module)).read_text(encoding="utf-8")
    tree, lines, place = ast.parse(text), text.splitlines(), 0
    for name, function in _functions(tree):
        for node in _telling(function):
            for other in _others(node):
                before, after = ast.unparse(node), ast.unparse(other)
                if before != after:
                    yield (
                        Mutant(module, name, place, before, after, *_place(node, lines)),
                        partial(_with, tree, node, other),
                    )
                    place += 1


def _place(node: Any, lines: list[str]) -> tuple[str, range]:
    """Return the line of a node, and the numbers of all its lines."""
    first = getattr(node, "lineno", 1)
    return lines[first - 1].strip(), range(first, getattr(node, "end_lineno", first) + 1)


def _source(module: str) -> str:
    from importlib.util import find_spec

    found = find_spec(f"lacunary.{module}")
    assert found is not None
    assert found.origin is not None
    return found.origin


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def _telling(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what has a meaning in a function's body: no docstrings, annotations, messages, functions."""
    body = node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node)
    for child in body:
        if isinstance(
            child, ast.Raise | ast.Assert | ast.JoinedStr | ast.FunctionDef | ast.Lambda | ast.AnnAssign
        ):
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        yield child
        yield from _telling(child)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node is changed into."""
    other: ast.AST = copy.deepcopy(node)
    if isinstance(other, ast.Compare) and len(other.ops) == 1 and type(other.ops[0]) in COMPARED:
        other.ops = [COMPARED[type(other.ops[0])]()]
        yield other
    elif isinstance(other, ast.BinOp | ast.AugAssign) and type(other.op) in WORKED:
        other.op = WORKED[type(other.op)]()
        yield other
    elif isinstance(other, ast.BoolOp):
        other.op = ast.Or() if isinstance(other.op, ast.And) else ast.And()
        yield other
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.USub | ast.Not):
        yield other.operand
    elif isinstance(other, ast.IfExp):
        other.body, other.orelse = other.orelse, other.body
        yield other
    elif isinstance(other, ast.Constant) and type(other.value) in (int, float):
        number: Any = other.value
        other.value = number + 1 if isinstance(number, int) else 2 * number or 1.0
        yield other
    elif isinstance(other, ast.Call) and isinstance(other.func, ast.Name) and other.func.id in ("min", "max"):
        other.func.id = "max" if other.func.id == "min" else "min"
        yield other


def _with(tree: ast.Module, node: ast.AST, other: ast.AST) -> ast.Module:
    """Return a copy of a tree in which one node is another."""
    marked = node.__dict__.setdefault("_mark", object())

    class Change(ast.NodeTransformer):
        def visit(self, here: ast.AST) -> ast.AST:
            return other if here.__dict__.get("_mark") is marked else self.generic_visit(here)

    changed = Change().visit(_copied(tree))
    del node.__dict__["_mark"]
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def _copied(tree: ast.Module) -> ast.Module:
    """Return a copy that keeps the marks as they are."""

    def copied(node: ast.AST) -> ast.AST:
        out = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(out, name, copied(value))
            elif isinstance(value, list):
                setattr(out, name, [copied(item) if isinstance(item, ast.AST) else item for item in value])
        return out

    found = copied(tree)
    assert isinstance(found, ast.Module)
    return found


class Trial:
    """A plugin of pytest that runs all tests once, and then some of them for every mutant."""

    def __init__(self, group: str, first: int, many: int) -> None:
        self.mutants = chosen(group)[first : first + many]
        self.files = {_source(mutant.module): mutant.module for mutant, _ in self.mutants}
        self.reached: dict[tuple[str, int], set[int]] = {}
        self.seconds: list[float] = []
        self.here: set[tuple[str, int]] = set()
        self.survived: list[str] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the tests, and the mutants."""
        for number, item in enumerate(session.items):
            self._look(number, item)
        for mutant, number in self.mutants:
            if not self._noticed(session.items, mutant, number):
                self.survived.append(str(mutant))
                print(f"survived: {mutant}", file=sys.stderr, flush=True)
        return True

    def _look(self, number: int, item: Any) -> None:
        """Run a test and note the lines it comes to, if it passes soon."""
        self.here.clear()
        began = process_time()
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, SHORT)
        sys.settrace(self._entered)
        try:
            passed = _passes(item)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.seconds.append(process_time() - began)
        for place in self.here if passed else ():
            self.reached.setdefault(place, set()).add(number)

    def _entered(self, frame: FrameType, event: str, given: Any) -> Any:
        return self._stepped if frame.f_code.co_filename in self.files else None

    def _stepped(self, frame: FrameType, event: str, given: Any) -> Any:
        if event == "line":
            self.here.add((self.files[frame.f_code.co_filename], frame.f_lineno))
        return self._stepped

    def _noticed(self, items: list[Any], mutant: Mutant, number: int) -> bool:
        """Tell whether a test that comes to a mutant's lines fails, or does not end, with it in place."""
        coming = set[int]().union(*(self.reached.get((mutant.module, line), ()) for line in mutant.lines))
        tests = sorted(coming, key=lambda test: self.seconds[test])
        spent = np.cumsum([self.seconds[test] for test in tests])
        tests = tests[: max(int(np.sum(spent < ENOUGH)), 1)]
        child = os.fork()
        if child == 0:  # pragma: no cover - in another process
            code = 99
            try:
                _put(mutant, number)
                code = 0 if all(self._passes_in_time(items[test], test) for test in tests) else 1
            finally:
                os._exit(code)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (0, 1) or ended < 0, f"the tests did not run: exit code {ended} of {mutant}"
        return ended != 0

    def _passes_in_time(self, item: Any, test: int) -> bool:
        """Tell whether a test passes; one that takes far longer than it did ends the process."""
        most = ceil(process_time() + 2.0 + 3.0 * self.seconds[test])
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        return _passes(item)


def _too_long(*given: object) -> None:
    raise TimeoutError("the test takes too long to be used here")


def _passes(item: Any) -> bool:
    from _pytest.runner import runtestprotocol

    try:
        return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))
    except Exception:  # pytest cannot show a test that was stopped between two lines
        return False


def _put(mutant: Mutant, number: int) -> None:
    """Put a mutant in place in this process, and forget what was kept of the original's answers."""
    loaded = import_module(f"lacunary.{mutant.module}")
    _, make = next(islice(made(mutant.module), number, None))
    codes = dict(_codes(compile(make(), loaded.__file__ or "", "exec", dont_inherit=True)))
    gc.unfreeze()  # what the tests' collection has frozen is not found else
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            if thing.__module__ == loaded.__name__ and thing.__code__.co_qualname == mutant.function:
                thing.__code__ = codes[mutant.function]
        elif isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith("lacunary"):
            thing.cache_clear()


def _main(group: str, first: int, many: int) -> int:
    """Run the tests of a package and some of its mutants; say what survived as the last line."""
    import pytest

    trial = Trial(group, first, many)
    files = [f"tests/{name}.py" for name in GROUPS[group][1].split()]
    ended = pytest.main(["-q", "-n0", "-p", "no:cacheprovider", "-W", "ignore", *files], [trial])
    print(json.dumps({"made": len(trial.mutants), "survived": trial.survived}), flush=True)
    return 0 if ended in (0, 5) else int(ended)


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


CAMPAIGN = Campaign(
    "mutants",
    "One changed operator or number in one function of kernels, formulas, families, evidence, structure or "
    "mixtures: a test that comes to its line must fail. Survivors are listed below, or in "
    "`tests/campaign/survivors.txt` with the reason why they change nothing.",
    (len(GROUPS), 3 * len(GROUPS)),
    work,
)

if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
