"""What one variable tells of another, in nats, and which observation would be worth most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lacunary.budget import budgeted
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.findings import Given

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["ObservationValue", "ObservationValues", "entropy", "mutual_information", "value_of_observation"]


def entropy(probabilities: ArrayLike) -> float:
    """Return −Σ p log p, in nats."""
    p = np.asarray(probabilities, dtype=np.float64)
    seen = p[p > 0]
    return float(-(seen * np.log(seen)).sum())


@budgeted
def mutual_information(
    model: Answers,
    first: str | Sequence[str],
    second: str | Sequence[str],
    given: Given | None = None,
) -> float:
    """Return how much two discrete variables, or sets of them, tell of each other, in nats; zero if nothing.

    >>> import lacunary as lac
    >>> round(lac.mutual_information(lac.asia(), "smoke", "bronc"), 4)
    0.0462
    """
    one, two = _names(first), _names(second)
    if set(one) & set(two):
        raise SchemaError(f"{min(set(one) & set(two))} is on both sides")
    _check_discrete(model, [*one, *two])
    joint = model.query(*one, *two, given=given).probabilities
    axes = tuple(range(len(one)))
    rest = tuple(range(len(one), joint.ndim))
    return max(0.0, entropy(joint.sum(axis=rest)) + entropy(joint.sum(axis=axes)) - entropy(joint))


@dataclass(frozen=True)
class ObservationValue:
    """What it would be worth to observe one variable.

    Attributes
    ----------
    name
        The variable.
    information
        How many nats of the target's entropy it takes away on average.
    share
        The same as a share of the target's entropy.
    gain
        By how much the expected utility of the best guess rises; with no utility given, by how much the
        chance that the likeliest state is right.
    """

    name: str
    information: float
    share: float
    gain: float


@dataclass(frozen=True)
class ObservationValues:
    """What every observation would be worth, the most informative first."""

    target: str
    entropy: float
    values: tuple[ObservationValue, ...]

    def __iter__(self) -> Iterator[ObservationValue]:
        return iter(self.values)

    def __str__(self) -> str:
        width = max([len("observe"), *(len(value.name) for value in self.values)])
        lines = [f"{self.target} has an entropy of {self.entropy:.4g} nats; to observe another takes away"]
        lines += [f"  {'observe':<{width}}      nats   share    gain"]
        lines += [
            f"  {v.name:<{width}}  {v.information:8.5f}  {100 * v.share:5.1f}%  {v.gain:6.4f}"
            for v in self.values
        ]
        return "\n".join(lines)

    __repr__ = __str__


@budgeted
def value_of_observation(
    model: Answers,
    target: str,
    given: Given | None = None,
    *,
    among: Iterable[str] | None = None,
    utility: ArrayLike | None = None,
) -> ObservationValues:
    """Return what it would be worth to observe each other variable, for one who asks about a target.

    Parameters
    ----------
    model
        A network or belief; the variables must be discrete.
    target, given
        What is asked about, and what is known already.
    among
        What could be observed; by default all that is discrete, not hidden and not given.
    utility
        What each choice is worth in each state of the target; (choices, states). By default the choices are
        the states, and a right one is worth 1.

    Examples
    --------
    >>> import lacunary as lac
    >>> [value.name for value in lac.value_of_observation(lac.asia(), "lung", given={"dysp": "yes"})][:3]
    ['either', 'xray', 'smoke']
    """
    schema = model.dag.schema
    _check_discrete(model, [target])
    worth = np.eye(schema[target].size) if utility is None else np.asarray(utility, dtype=np.float64)
    if worth.ndim != 2 or worth.shape[1] != schema[target].size:
        raise ParameterError(
            f"utility needs a row for each choice and a column for each of the {schema[target].size} states "
            f"of {target}, not {worth.shape}"
        )
    known = {target, *(given or {})}
    names = [v.name for v in schema if v.discrete and not v.hidden] if among is None else list(among)
    _check_discrete(model, names)
    before = model.query(target, given=given).probabilities
    start, best = entropy(before), float((worth @ before).max())
    found = []
    for name in (name for name in names if name not in known):
        joint = model.query(target, name, given=given).probabilities
        left = entropy(joint) - entropy(joint.sum(axis=0))
        told = max(0.0, start - left)
        gain = max(0.0, float((worth @ joint).max(axis=0).sum()) - best)
        found.append(ObservationValue(name, told, told / start if start > 0 else 0.0, gain))
    found.sort(key=lambda value: -value.information)
    return ObservationValues(target, start, tuple(found))


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _check_discrete(model: Answers, names: Sequence[str]) -> None:
    for name in names:
        if not model.dag.schema[name].discrete:
            raise SchemaError(f"{name} is continuous; information is worked out for discrete variables")
