"""What can be asked of a mixture: the components' answers, weighted by how probable each component is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Schema
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, SchemaError
from lacunary.exactness import announced
from lacunary.family.distribution import Answer, Distribution, NormalMixture
from lacunary.family.joint import JointMixture
from lacunary.infer.answers import Answers, Target, as_table
from lacunary.infer.complete import completed
from lacunary.infer.intervene import check_do
from lacunary.maths.drawn import DrawnArray, error_of, shares_with_error, with_error, with_errors_of

if TYPE_CHECKING:
    from lacunary.infer.mixture import Noise

__all__ = ["MixtureAnswers", "added", "part_of"]

Array = NDArray[np.float64]


class MixtureAnswers:
    """Queries, posteriors and draws of what is missing, for components with weights and perhaps noise.

    Under the noise, what is missing is uniform; for a continuous variable the answer has the normal of the
    same mean and variance in its place.
    """

    weights: Array

    if TYPE_CHECKING:  # a field of the same name would take a property for its default

        @property
        def components(self) -> Sequence[Answers]:
            """What is mixed, beside the noise."""

        @property
        def noise(self) -> Noise | None:
            """A uniform component, the last, or none."""

    @property
    def schema(self) -> Schema:
        """The variables."""
        raise NotImplementedError

    def responsibilities(self, table: Any, *, exact: bool = False) -> Array:
        """Return the probability that each row came from each component; (rows, components)."""
        raise NotImplementedError

    @announced
    def query(
        self,
        *targets: str,
        given: Mapping[str, Label] | None = None,
        do: Mapping[str, Label] | None = None,
        exact: bool = False,
    ) -> Answer:
        """Return the joint `Distribution` of some discrete variables given the states or values of others.

        Of a continuous variable, asked about alone, it is a `NormalMixture`, and of several variables, some
        of them continuous, a `JointMixture`. ``do`` sets variables from
        outside in every component, whose weights it leaves, and ``exact=True`` refuses what does not fit
        exact inference; see `Network.query`.
        """
        asked: Target = targets[0] if len(targets) == 1 else targets
        mass = self._log_masses(given or {}, do)
        if not np.isfinite(mass.max()):
            raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
        logs = np.asarray(mass)
        shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        used = np.flatnonzero(shares > 0)
        answers = [self._one(int(c), asked, given, do) for c in used]
        if isinstance(answers[0], JointMixture):
            return JointMixture.mixed(shares[used].tolist(), answers)
        one = np.zeros(1, dtype=np.int64)
        parts = [part_of(told, shares[c : c + 1], one) for c, told in zip(used, answers, strict=True)]
        found = added(parts, shares_with_error(shares, mass)[None, used])
        if isinstance(found, NormalMixture):
            return found[0]
        return Distribution.of([self.schema[name] for name in targets], found[0])

    @announced
    def probability(
        self, given: Mapping[str, Label], do: Mapping[str, Label] | None = None, *, exact: bool = False
    ) -> float:
        """Return the probability of these states together, or their density, once ``do`` is set."""
        mass = self._log_masses(given, do)
        every = np.exp(np.asarray(mass))
        noise = getattr(mass, "error", None)
        error = None if noise is None else float(np.sqrt((every**2 * noise**2).sum()))
        return cast(float, with_error(float(every.sum()), error))

    def _log_masses(self, given: Mapping[str, Label], do: Mapping[str, Label] | None) -> Array:
        """Return log weight + log p(given | component) for each component, once ``do`` is set."""
        check_do(self.schema, do or {}, given)
        logs = [component.log_density(given, do) for component in self.components]
        logs += [float(self.noise.log_density(self._row(given))[0])] if self.noise is not None else []
        with np.errstate(divide="ignore"):
            return with_errors_of(np.asarray(np.array(logs) + np.log(self.weights)), logs)

    def _row(self, known: Mapping[str, Label]) -> Table:
        """Return what is known as a table of one row."""
        return as_table({name: [known.get(name)] for name in self.schema.names}, self.schema.reveal())

    def _one(
        self, c: int, asked: Target, given: Mapping[str, Label] | None, do: Mapping[str, Label] | None
    ) -> Any:
        """Return what one component answers to a query, as the posterior of a table of one row.

        That of several variables, some of them continuous, is a `JointMixture`.
        """
        names = (asked,) if isinstance(asked, str) else asked
        if c == len(self.components):
            row = self._row({**(given or {}), **(do or {})})
            if len(names) > 1 and not all(self.schema[name].discrete for name in names):
                return self._unrelated(row, names)
            return self._uniform(row, asked)
        answer: Any = self.components[c].query(*names, given=given, do=do)
        if isinstance(answer, JointMixture):
            return answer
        if isinstance(answer, NormalMixture):
            return answer[None]
        if answer.error is None:
            return answer.probabilities[None]
        return DrawnArray(answer.probabilities[None], answer.error[None])

    @announced
    def posterior(
        self, table: Any, targets: Sequence[Target] | None = None, *, exact: bool = False
    ) -> dict[Target, Any]:
        """Return the posterior of variables, or of sets of them, in every row; see `Answers.posterior`."""
        rows = as_table(table, self.schema)
        chosen: Sequence[Target] = self.schema.names if targets is None else targets
        shares = self.responsibilities(rows)
        parts: dict[Target, list[Any]] = {target: [] for target in chosen}
        for c, share in enumerate(np.asarray(shares).T):
            where = np.flatnonzero(share > 0)  # to the others a row may be impossible
            for target, answer in self._told(c, rows.take(where), chosen).items():
                parts[target].append(part_of(answer, share, where))
        return {target: added(answers, shares) for target, answers in parts.items()}

    def _told(self, c: int, rows: Table, targets: Sequence[Target]) -> dict[Target, Any]:
        """Return the posterior under one component, the noise being the last."""
        if c < len(self.components):
            found: dict[Target, Any] = dict(self.components[c].posterior(rows, targets))
            return found
        return {target: self._uniform(rows, target) for target in targets}

    def _unrelated(self, row: Table, names: Sequence[str]) -> JointMixture:
        """Return what the noise says of variables in a row, in which none depends on another."""
        variables = tuple(self.schema[name] for name in names)
        states = tuple(v.name for v in variables if v.discrete)
        margins = [self._uniform(row, v.name)[0] for v in variables if not v.discrete]
        return JointMixture.independent(
            variables, self._uniform(row, states)[0] if states else np.ones(()), margins
        )

    def _uniform(self, rows: Table, target: Target) -> Any:
        names = [target] if isinstance(target, str) else list(target)
        places = [self.schema.index(name) for name in names]
        if not self.schema[names[0]].discrete:
            if len(names) > 1:
                raise SchemaError(f"{names[0]} is continuous: in every row of a table ask about it alone")
            assert self.noise is not None
            low, high, i = self.noise.low, self.noise.high, places[0]
            holes = np.isnan(rows.reals[:, i])
            mean = np.where(holes, 0.5 * (low[i] + high[i]), rows.reals[:, i])
            sd = np.where(holes, (high[i] - low[i]) / np.sqrt(12.0), 0.0)
            return NormalMixture(self.schema[names[0]], np.ones((len(rows), 1)), mean[:, None], sd[:, None])
        out = np.ones((len(rows), *[1] * len(places)))
        for axis, i in enumerate(places):
            size, codes = self.schema.sizes[i], rows.codes[:, i, None]
            one = np.where(codes == HOLE, 1.0 / size, codes == np.arange(size))
            out = out * one.reshape(len(rows), *[size if k == axis else 1 for k in range(len(places))])
        return out

    def drawn(self, rows: Table, random: np.random.Generator) -> tuple[NDArray[np.int64], Array]:
        """Return codes and reals with every hole drawn, each row's from a component drawn for it."""
        upto = np.cumsum(self.responsibilities(rows), axis=1)
        owner = (random.random((len(rows), 1)) * upto[:, -1:] >= upto[:, :-1]).sum(axis=1)
        codes, reals = rows.codes.astype(np.int64), np.array(rows.reals)
        for c in np.unique(owner):
            where = np.flatnonzero(owner == c)
            if c < len(self.components):
                model = self.components[c]
                seen = rows.take(where).align(model.dag.schema)  # models may have another order
                found, values = completed(model.dag, model.parameters(), seen, random)
                back = [model.dag.schema.index(name) for name in self.schema.names]
                codes[where], values = found[:, back], values[:, back] if values.shape[1] else values
            else:
                assert self.noise is not None
                states, values = self.noise.draw(len(where), random)
                codes[where] = np.where(codes[where] == HOLE, states, codes[where])
            values = values[:, : reals.shape[1]]
            reals[where] = np.where(np.isnan(reals[where]), values, reals[where])
        return codes, reals


def part_of(answer: Any, share: Array, where: NDArray[np.int64]) -> Any:
    """Return the answer about some rows as part of one about all rows, weighted by the shares."""
    if isinstance(answer, NormalMixture):
        return answer.among(share, where)
    weight = share[where].reshape(-1, *[1] * (answer.ndim - 1))
    out = np.zeros((len(share), *answer.shape[1:]))
    out[where] = np.asarray(answer) * weight
    if (error := getattr(answer, "error", None)) is None:
        return out
    noise = np.zeros_like(out)
    noise[where] = error * weight
    return DrawnArray(out, noise)


def added(answers: Sequence[Any], shares: Array) -> Any:
    """Return answers weighted by shares, (rows, answers), added up; normals stand side by side.

    The error is that of the answers and, as far as these differ, of the shares, whose errors go together.
    """
    if isinstance(answers[0], NormalMixture):
        return NormalMixture.mixed(answers)
    parts = [np.asarray(answer) for answer in answers]
    found = np.asarray(sum(parts))
    if all(getattr(each, "error", None) is None for each in (shares, *answers)):
        return found
    square, moved = np.zeros_like(found), np.zeros_like(found)
    for c, answer in enumerate(answers):
        share, off = (
            np.asarray(each)[:, c].reshape(-1, *[1] * (found.ndim - 1)) for each in (shares, error_of(shares))
        )
        square += error_of(answer) ** 2
        moved += np.where(share > 0, off / np.where(share > 0, share, 1.0), 0.0) * abs(
            parts[c] - share * found
        )
    return DrawnArray(found, np.sqrt(square + moved**2))
