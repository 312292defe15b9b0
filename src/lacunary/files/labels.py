"""The states of a variable as text, for formats in which a state is nothing else."""

from __future__ import annotations

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.infer.network import Network

__all__ = ["state_texts"]


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
