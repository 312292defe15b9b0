"""Mutants: small changes of meaning in the code, each of which some test must notice.

A mutant is one changed operator or number in one function. It is made in a copied process, by giving the
function another code object, and the tests of its module are run there; a mutant that all of them pass has
survived, and is a failure unless ``survivors.txt`` says why no test can tell it from the original.
"""

from __future__ import annotations

import ast
import copy
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tests.campaign.run import Campaign, Found

PATIENCE = 150
"""Seconds of the clock after which a mutant that does not end has been noticed."""

QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Hypothesis was loaded before pytest was."""

PLAIN = "kernels"
"""Modules whose functions are compiled: their mutants run as plain Python, in a process of their own."""

TESTS = {
    "maths.special": ["tests/maths/test_special.py", "tests/test_edges.py"],
    "maths.regression": ["tests/maths/test_regression.py"],
    "maths.normal_wishart": ["tests/maths/test_normal_wishart.py"],
    "maths.pareto": ["tests/maths/test_pareto.py"],
    "maths.mixing": ["tests/maths/test_mixing.py"],
    "family.regression": ["tests/infer/test_mixed.py", "tests/learn/test_mixed_fit.py"],
    "evidence.exact": ["tests/evidence/test_exact.py"],
    "evidence.laplace": ["tests/evidence/test_laplace.py"],
    "evidence.symmetry": ["tests/evidence/test_symmetry.py"],
    "structure.board": ["tests/structure/test_board.py", "tests/structure/test_structure_prior.py"],
    "structure.prior": ["tests/structure/test_structure_prior.py"],
    "structure.schedule": ["tests/structure/test_schedule.py"],
    "structure.discrete": ["tests/structure/test_discrete.py"],
    "structure.counter": ["tests/structure/test_discrete.py"],
    "structure.gaussian": ["tests/structure/test_gaussian.py"],
    "mixture.products": ["tests/mixture/test_products.py"],
    "mixture.noise": ["tests/mixture/test_noise.py"],
    "mixture.begin": ["tests/mixture/test_begin.py"],
    "kernels.swept": ["tests/kernels/test_swept.py", "tests/structure/test_gaussian.py"],
}

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

    def __str__(self) -> str:
        return f"{self.module} {self.function}: {self.before} → {self.after} in {self.line}"


def work(rng: np.random.Generator, index: int) -> Found:
    """Make one mutant of the next module, and run the tests."""
    module = list(TESTS)[index % len(TESTS)]
    mutants = _mutants(module)
    number = int(rng.integers(len(mutants)))
    mutant = mutants[number]
    if str(mutant) in survivors() or noticed(mutant, number):
        return Found(1)
    raise AssertionError(f"survived: {mutant}")


@cache
def survivors() -> frozenset[str]:
    """Return the mutants of which ``survivors.txt`` says why no test can tell them from the original."""
    text = Path(__file__).with_name("survivors.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith(("#", " ")))


@cache
def _mutants(module: str) -> list[Mutant]:
    return [mutant for mutant, _ in made(module)]


def made(module: str) -> Iterator[tuple[Mutant, ast.Module]]:
    """Yield every mutant of a module with its tree."""
    text = Path(_source(module)).read_text(encoding="utf-8")
    tree, lines, place = ast.parse(text), text.splitlines(), 0
    for name, function in _functions(tree):
        for node in _telling(function):
            for other in _others(node):
                before, after = ast.unparse(node), ast.unparse(other)
                if before != after:
                    yield (
                        Mutant(
                            module, name, place, before, after, lines[getattr(node, "lineno", 1) - 1].strip()
                        ),
                        _with(tree, node, other),
                    )
                    place += 1


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


def noticed(mutant: Mutant, number: int) -> bool:
    """Tell whether a test fails, or none ends, with the mutant in place."""
    if mutant.module.startswith(PLAIN):
        command = [sys.executable, "-m", "tests.campaign.mutants", mutant.module, str(number)]
        try:
            ran = subprocess.run(command, timeout=PATIENCE, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
            return _told(ran.returncode)
        except subprocess.TimeoutExpired:
            return True
    import_module(f"lacunary.{mutant.module}")
    child = os.fork()
    if child == 0:  # pragma: no cover - in another process
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        code = 99
        try:
            code = tried(mutant.module, number)
        finally:
            os._exit(code)
    return _told(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _told(code: int) -> bool:
    """Tell what an end means: 0, all passed; 1, one failed; a signal, it took too long."""
    assert code in (0, 1) or code < 0, f"the tests did not run: exit code {code}"
    return code != 0


def tried(module: str, number: int) -> int:
    """Put a mutant in place in this process, run its module's tests, and return what pytest returns."""
    import pytest

    loaded = import_module(f"lacunary.{module}")
    mutant, tree = next(islice(made(module), number, None))
    codes = dict(_codes(compile(tree, loaded.__file__ or "", "exec", dont_inherit=True)))
    for function in (thing for thing in gc.get_objects() if isinstance(thing, FunctionType)):
        known = function.__code__
        if function.__module__ == loaded.__name__ and known.co_qualname == mutant.function:
            function.__code__ = codes[mutant.function]
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    return int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", *QUIET, *TESTS[module]]))


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


CAMPAIGN = Campaign(
    "mutants",
    "One changed operator or number in one function of kernels, formulas, families, evidence, structure or "
    "mixtures: its module's tests must fail. Survivors are listed below, or in "
    "`tests/campaign/survivors.txt` with the reason why they change nothing.",
    (19, 380),
    work,
)

if __name__ == "__main__":
    sys.exit(tried(sys.argv[1], int(sys.argv[2])))
