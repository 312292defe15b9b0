"""How sure one can be of an arc: the probabilities of all arcs and links, given a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.source import Source
from lacunary.errors import ParameterError, TooWideError
from lacunary.infer.answers import as_source
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import AGREE, LEAST, chain_mean
from lacunary.model.arrows import Arc
from lacunary.registry import borrow, page_of
from lacunary.structure.all_graphs import sum_of_graphs
from lacunary.structure.chain import BYTES, Setting, whole_rows
from lacunary.structure.collapsed import walkers
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.default import exact_seconds
from lacunary.structure.going import Going
from lacunary.structure.prior import DEFAULT, PriorGiven, StructurePrior

__all__ = ["ArcProbabilities", "arc_probabilities", "diagnosed"]


CHEAP = 20.0
"""Seconds up to which the sum over all graphs is worth it, by an estimate."""

LONGER = 1.5
"""How many times as many draws are made as first seem enough."""

SHOWN, LEAST_SHOWN = 40, 0.01
"""Links that are printed, at most, and how probable they are, at least."""


@dataclass(frozen=True, eq=False)
class ArcProbabilities:
    """How probable arcs and links are: ``p["A", "B"]`` is the probability of A → B.

    A *link* joins two variables, whichever way its arc points. ``print`` shows links with their arcs, `page`
    and `plot` draw them, `save` keeps them.

    Attributes
    ----------
    names
        The variables.
    arcs, links
        The probability of each arc, at [from, to], and of each link; (n, n).
    error, link_error
        Monte Carlo standard errors of both, zero where they are exact; (n, n).
    method
        "exact": a sum over all graphs; "sampling": the mean over chains that walk over graphs.
    structure_prior
        The prior over structures, by name.
    chains, draws
        How many chains there were, and how many draws each of them made; 0 where there were none.
    asked
        The standard error of links that chains were to come to.
    rhat, effective
        Of chains: split R̂ and effective number of draws of each arc; (n, n). Of chains of more than 512
        draws they are those of means over neighbouring draws, of which there are that many at most.
    log_rhat, log_effective
        The same of log p(rows | graph) + log p(graph).
    doubts
        What is doubtful about the columns, in a line; see `Table.doubts`.
    """

    names: tuple[str, ...]
    arcs: Array
    error: Array
    link_error: Array
    method: Literal["exact", "sampling"]
    structure_prior: str = "uniform"
    chains: int = 0
    draws: int = 0
    rhat: Array | None = None
    effective: Array | None = None
    log_rhat: float | None = None
    log_effective: float | None = None
    doubts: str = ""
    asked: float | None = None

    @property
    def links(self) -> Array:
        """The probability of each link; (n, n)."""
        return np.asarray(self.arcs + self.arcs.T)

    @property
    def worst_rhat(self) -> float | None:
        """The greatest R̂ of any arc, and of log p; beyond 1.05 chains were at different graphs."""
        if self.rhat is None or self.log_rhat is None:
            return None
        return float(max(self.rhat.max(initial=1.0), self.log_rhat))

    def __getitem__(self, arc: Arc) -> float:
        tail, head = (self._index(name) for name in arc)
        return float(self.arcs[tail, head])

    def link(self, one: str, other: str) -> float:
        """Return the probability that an arc joins two variables, either way."""
        return float(self.links[self._index(one), self._index(other)])

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise ParameterError(f"there is no variable {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def ranked(self) -> Iterator[dict[str, Any]]:
        """Go over links, the most probable first: both names, the link, both arcs, and the errors."""
        pairs = np.argwhere(np.triu(np.ones_like(self.arcs), 1))
        chances = np.array([self.links[i, j] for i, j in pairs])
        for place in np.argsort(-chances, kind="stable"):
            i, j = map(int, pairs[place])
            if self.arcs[j, i] > self.arcs[i, j]:
                i, j = j, i
            yield {
                "from": self.names[i],
                "to": self.names[j],
                "arc": float(self.arcs[i, j]),
                "back": float(self.arcs[j, i]),
                "link": float(self.links[i, j]),
                "error": float(self.error[i, j]),
                "link_error": float(self.link_error[i, j]),
            }

    def note(self) -> str:
        """Return in words how the numbers were come by and how far they can be trusted."""
        prior = f"prior over structures {self.structure_prior}"
        if self.method == "exact":
            return f"exact: a sum over all graphs; {prior}"
        said = f"sampled: {self.chains} chains of {self.draws} draws; {prior}"
        worst = self.worst_rhat
        if worst is None:
            return f"{said}; too few draws to tell the errors"
        met = (
            f"chains met (R̂ {worst:.3f})"
            if worst <= AGREE
            else f"chains did not meet (R̂ {worst:.2f}): draw more"
        )
        largest = self.link_error.max(initial=0.0)
        above = ""
        if self.asked is not None and largest > self.asked and worst <= AGREE:
            above = f", above the {self.asked:g} asked for: draw more"
        return f"{said}; errors up to {largest:.3f}{above}; {met}"

    def __str__(self) -> str:
        rows = [row for row in self.ranked() if row["link"] >= LEAST_SHOWN]
        width = max((len(f"{row['from']} -> {row['to']}") for row in rows[:SHOWN]), default=0)
        sampled = self.method != "exact"
        lines = [
            f"{row['from'] + ' -> ' + row['to']:{width}}  link {row['link']:.3f}"
            + (f" ± {row['link_error']:.3f}" if sampled else "")
            + f"   -> {row['arc']:.3f}   <- {row['back']:.3f}"
            for row in rows[:SHOWN]
        ]
        count = len(self.names) * (len(self.names) - 1) // 2
        rest = count - len(lines)
        left = np.sort(self.links[np.triu_indices(len(self.names), 1)])[::-1][len(lines) :]
        more = [f"{rest} more, each at most {left[0]:.3f}"] if rest else []
        doubts = [f"note: {self.doubts}"] if self.doubts else []
        return "\n".join([f"probabilities of {count} links ({self.note()})", *lines, *more, *doubts])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return links, arcs and errors as plain data."""
        return {
            "method": self.method,
            "structure_prior": self.structure_prior,
            "variables": list(self.names),
            "links": list(self.ranked()),
            "chains": self.chains,
            "draws": self.draws,
            "rhat": self.worst_rhat,
            "effective": None if self.effective is None else float(self.effective.min(initial=np.inf)),
            "log_rhat": self.log_rhat,
            "log_effective": self.log_effective,
        }

    def plot(self) -> Any:
        """Return a figure: from each variable (rows) to each (columns), how probable the arc is."""
        return borrow("arc probabilities as a figure")(self)

    def page(self, path: str | PathLike[str] | None = None, *, title: str = "How sure of each arc") -> str:
        """Return a page: the figure, and every link with its probabilities; written if a path is given."""
        return page_of("arc probabilities", path, self, title)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, for `lacunary.load`."""
        borrow("save")(self, path)


@budgeted
def arc_probabilities(
    table: Any,
    *,
    prior: Any = None,
    structure_prior: PriorGiven = DEFAULT,
    method: Literal["exact", "sampling"] | None = None,
    error: float = 0.003,
    chains: int = 4,
    draws: int | None = None,
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> ArcProbabilities:
    """Return how probable every arc and every link is, averaged over all graphs.

    Where no value is missing and variables are few it is exact: a sum over all graphs, each counted once.
    Elsewhere several chains walk over graphs, and over what the missing values are, and the probabilities
    come with their Monte Carlo errors; with up to eight variables a chain draws from all graphs at once, and
    if these are discrete it integrates their parameters out.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path.
    prior, structure_prior
        As of `search`.
    method
        "exact" or "sampling"; by default exact where that takes seconds (to about 11 variables).
    error
        Sampling goes on until no link's standard error is larger than this and chains have met, and then half
        as long again, since errors that have just become small enough tend to be too small. Interrupted, it
        returns what the draws by then say.
    chains, draws
        How many chains there are, and how many draws each of them makes at most: by default as many as take
        about a minute by an estimate, or 2 000 where variables are not all discrete or more than eight.
    required, forbidden, max_parents, tiers
        As of `search`.
    watch
        Called with how many steps are done and how many there are at most.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lacunary as lac
    >>> p = arc_probabilities(lac.asia().sample(500, rng=0).select(["smoke", "lung", "bronc"]))
    >>> p.link("smoke", "bronc") > 0.99 > p.link("lung", "bronc")
    True
    """
    if method not in (None, "exact", "sampling"):
        raise ParameterError(f"method is 'exact' or 'sampling', not {method!r}")
    if not error > 0 or chains < 2 or (draws is not None and draws < LEAST):
        raise ParameterError(
            f"error must be positive, chains at least 2 and draws at least {LEAST}, "
            f"not error={error}, chains={chains} and draws={draws}"
        )
    rows = whole_rows(as_source(table).whole("a chain over graphs"))
    constraints = Constraints.of(
        rows.schema, required=required, forbidden=forbidden, max_parents=max_parents, tiers=tiers
    )
    graphs = StructurePrior.of(structure_prior, constraints)
    setting = Setting.of(rows, prior, graphs, constraints)
    if method == "exact" or (method is None and _cheap(rows, constraints, graphs)):
        found = _exact(setting)
    else:
        found = _sampled(setting, error, chains, draws, watch, np.random.default_rng(rng))
    return replace(found, doubts=str(getattr(rows, "doubts", "")))


def _cheap(rows: Source, constraints: Constraints, graphs: StructurePrior) -> bool:
    """Whether the sum over all graphs takes seconds: some 70 ns for each of 4ⁿ, and each charge of links."""
    n = len(constraints.schema)
    parts = len(graphs.logs) // 2 + 1 if graphs.name == "beta-binomial" else 1
    seconds = 7e-8 * 4.0**n * parts + (exact_seconds(rows, constraints) if n <= 16 else np.inf)
    return not rows.facts.holes.any() and seconds <= CHEAP


def _exact(setting: Setting) -> ArcProbabilities:
    names = setting.rows.schema.names
    if setting.rows.holes.any():
        raise ParameterError(
            "values are missing, so that the sum over graphs is not known; leave method out, or say "
            "method='sampling'"
        )
    if len(names) > 14:
        raise TooWideError(
            f"the sum over all graphs of {len(names)} variables is out of reach; say method='sampling'"
        )
    _, arcs = sum_of_graphs(setting.family_terms(setting.score(setting.rows)), setting.structure_prior)
    nothing = np.zeros_like(arcs)
    return ArcProbabilities(names, arcs, nothing, nothing, "exact", setting.structure_prior.name)


def _sampled(
    setting: Setting,
    error: float,
    chains: int,
    draws: int | None,
    watch: Callable[[int, int], object] | None,
    rng: np.random.Generator,
) -> ArcProbabilities:
    """Let chains go on until the probabilities are as exact as they are to be, and then half as long again.

    Where they stop as soon as errors look small enough, errors are those that look too small.
    """
    reserve(BYTES * chains, f"{chains} chains over graphs", "take fewer chains")
    going = Going(walkers(setting, rng.spawn(chains)), draws, watch)
    try:
        going.begin()
        enough = np.inf
        while not going.over and going.steps < enough:
            going.go_on()
            if enough == np.inf and going.steps >= going.walking[0].least:
                found = diagnosed(setting, going.arcs, going.logs, going.steps)
                worst, met = found.link_error.max(initial=0.0), found.worst_rhat
                if met is not None and met <= AGREE and worst <= error:
                    enough = LONGER * going.steps
    except KeyboardInterrupt:
        if going.steps < LEAST:
            raise
    return replace(diagnosed(setting, going.arcs, going.logs, going.steps), asked=error)


def diagnosed(setting: Setting, arcs: Array, logs: Array, steps: int) -> ArcProbabilities:
    """Return what chains say of arcs; errors, R̂ and effective sizes where they can be told.

    ``arcs`` are draws or means of them, (chains, draws, n, n), and ``logs`` what goes with them.
    """
    names, n = setting.rows.schema.names, len(setting.rows.schema)
    chains, draws = logs.shape
    known = setting.structure_prior.name
    if draws < LEAST:
        unknown = np.full((n, n), np.nan)
        mean = arcs.mean(axis=(0, 1))
        return ArcProbabilities(names, mean, unknown, unknown, "sampling", known, chains, steps)
    single = chain_mean(arcs.reshape(chains, draws, n * n))
    both = chain_mean((arcs + arcs.transpose(0, 1, 3, 2)).reshape(chains, draws, n * n))
    height = chain_mean(logs[..., None])
    square = (n, n)
    return ArcProbabilities(
        names,
        single.mean.reshape(square),
        single.stderr.reshape(square),
        both.stderr.reshape(square),
        "sampling",
        known,
        chains,
        steps,
        single.rhat.reshape(square),
        single.ess.reshape(square),
        float(height.rhat[0]),
        float(height.ess[0]),
    )
