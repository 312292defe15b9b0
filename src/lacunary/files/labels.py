"""The states of a variable as text, for formats in which a state is nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lacunary.data.schema import Variable
from lacunary.data.wording import listed
from lacunary.errors import FileError
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["losses", "nested", "state_texts"]


def state_texts(network: Network, language: str, *, numeric: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the states of each variable as text, or say what the language cannot express.

    Where it has continuous variables, ``numeric``, these have none.
    """
    if not len(network.dag.schema):
        raise FileError(f"{language} cannot hold a network without variables")
    return {
        variable.name: () if numeric and not variable.discrete else _texts(variable, language)
        for variable in network.dag.schema
    }


def _texts(variable: Variable, language: str) -> tuple[str, ...]:
    if not variable.discrete:
        raise FileError(f"{language} cannot hold the continuous variable {variable.name!r}; save it as .json")
    texts = tuple(str(state) for state in variable.states)
    if len(set(texts)) != len(texts):
        raise FileError(
            f"{language} writes states as text, and two of {variable.name!r} read the same; save it as .json"
        )
    return texts


def nested(table: Array, between: str, lines: str) -> str:
    """Return numbers with a pair of parentheses for every index; what is between them, and between rows."""
    texts = [f"({between.join(map(repr, row))})" for row in table.reshape(-1, table.shape[-1]).tolist()]
    for size in reversed(table.shape[:-1]):
        texts = [f"({lines.join(texts[i : i + size])})" for i in range(0, len(texts), size)]
    return texts[0]


def losses(network: Network, *, named: bool = False, typed: bool = False) -> Iterator[str]:
    """Say what files that hold nothing but names, texts for states and tables do not keep of a network.

    ``named`` says that they keep all about variables, ``typed`` that states need not be text.
    """
    dag = network.dag
    if dag.tied:
        yield f"that {listed([' and '.join(group) for group in dag.tied])} share a table"
    if sigmoid := [dag.names[place] for place, _ in dag.implied]:
        yield f"the weights of {listed(sigmoid)}, which are written as tables"
    if named:
        return
    about: dict[str, Callable[[Variable], object]] = {
        "what states of {} are, which become text": lambda v: (
            not typed and any(type(s) is not str for s in v.states)
        ),
        "that {} is hidden": lambda v: v.hidden,
        "the order of states of {}": lambda v: v.ordered,
        "the unit of {}": lambda v: v.unit,
        "the bounds of {}": lambda v: v.bounds is not None,
    }
    for words, lost in about.items():
        if names := [v.name for v in dag.schema if lost(v)]:
            yield words.format(listed(names))
