"""How much an answer hangs on the prior: any estimate over a range of α, for one model or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.frame import frame_of
from lacunary.errors import ParameterError
from lacunary.evidence.compare import Comparison, Models, compare
from lacunary.infer.answers import as_source
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.learn.fit import Fit
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.registry import borrow

__all__ = ["Sensitivity", "sensitivity"]

ALPHAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

MAKERS: Mapping[str, Callable[[float], Prior]] = {"dirichlet": Dirichlet, "bdeu": BDeu}


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The log evidence of models under priors of different strength; ``print`` shows it, `plot` draws it.

    Attributes
    ----------
    alphas
        The priors' hyperparameters; (priors,).
    comparisons
        The models, compared under each.
    prior
        What α is: "dirichlet", the weight of every parameter, "bdeu", the rows the prior is worth, or the
        name of a function from α to a prior.
    interrupted
        Whether it was broken off, so that other hyperparameters were not tried.
    """

    alphas: Array
    comparisons: tuple[Comparison, ...]
    prior: str
    interrupted: bool = False

    @property
    def models(self) -> tuple[str, ...]:
        """The models' names."""
        return tuple(self.comparisons[0].models)

    @property
    def methods(self) -> tuple[str, ...]:
        """The estimates."""
        return self.comparisons[0].methods

    @property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        return self.comparisons[0].doubts

    def values(self, method: str | None = None) -> Array:
        """Return the log evidence of every model under every prior, in nats; (priors, models)."""
        return np.array([found.values(method or self.methods[0]) for found in self.comparisons])

    def errors(self, method: str | None = None) -> Array:
        """Return the standard errors of these, zero of what is not sampled; (priors, models)."""
        name = method or self.methods[0]
        found = ([c.estimates[model].get(name) for model in self.models] for c in self.comparisons)
        return np.array([[(one and one.stderr) or 0.0 for one in row] for row in found])

    @property
    def axis(self) -> str:
        """What α is, in words."""
        words = {"dirichlet": "alpha of every parameter", "bdeu": "rows the prior is worth"}
        return words.get(self.prior, "alpha, as the function of priors takes it")

    def best(self, method: str | None = None) -> dict[float, str]:
        """Return the most probable model under each prior."""
        best = (found.best(method or self.methods[0]) for found in self.comparisons)
        return {float(a): name for a, name in zip(self.alphas, best, strict=True)}

    def rows(self) -> list[dict[str, Any]]:
        """Return one record for each prior, model and method."""
        return [
            {"alpha": float(alpha), **record}
            for alpha, found in zip(self.alphas, self.comparisons, strict=True)
            for record in found.rows()
        ]

    def to_frame(self) -> Any:
        """Return the records as a data frame."""
        rows = self.rows()
        return frame_of({key: [row[key] for row in rows] for key in rows[0]})

    def plot(self, method: str | None = None) -> Any:
        """Return a figure of the log evidence against α, a line for each model."""
        return borrow("sensitivity as a figure")(self, method)

    def __str__(self) -> str:
        lines = [f"log evidence in nats, higher is better, by {self.axis}; * the best model under each prior"]
        for method in self.methods:
            cells = [[found.cell(name, method) for name in self.models] for found in self.comparisons]
            width = max(12, *(len(name) + 2 for name in self.models), *(len(c) for row in cells for c in row))
            lines += ["", f"{method:<10}" + "".join(f"{name:>{width}} " for name in self.models)]
            for alpha, row in zip(self.alphas, cells, strict=True):
                lines.append(f"{alpha:<10g}" + "".join(f"{cell:>{width + 1}}" for cell in row))
        for alpha, found in zip(self.alphas, self.comparisons, strict=True):
            lines += [f"at {alpha:g}, {warning}" for warning in found.warnings()]
        lines += ["it was interrupted, and other priors were not tried"] if self.interrupted else []
        lines += [f"note: {self.doubts}"] if self.doubts else []
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


@budgeted
def sensitivity(
    models: Models | Dag | Fit | str,
    table: Any,
    methods: str | Sequence[str] = "cheeseman-stutz",
    *,
    alphas: Sequence[float] = ALPHAS,
    prior: Literal["dirichlet", "bdeu"] | Callable[[float], Prior] = "dirichlet",
    watch: Callable[[int, int, str], object] | None = None,
    **options: Any,
) -> Sensitivity:
    """Return the log evidence of one model or several over a range of priors.

    Parameters
    ----------
    models, table, methods
        As in `lacunary.compare`; one model, and one method, may stand alone.
    alphas
        The hyperparameters to try.
    prior
        What they are hyperparameters of: "dirichlet", "bdeu", or a function from one to a prior.
    watch, **options
        As in `lacunary.compare`.

    Notes
    -----
    An interrupt ends it after the prior at work: ``alphas`` of the result are those that were tried.

    Examples
    --------
    >>> import lacunary as lac
    >>> asia = lac.asia().sample(100, rng=0)
    >>> two = {"apart": "smoke; lung", "joined": "smoke -> lung"}
    >>> lac.sensitivity(two, asia, "exact", alphas=[0.1, 1, 10]).values().shape
    (3, 2)
    """
    if not callable(prior) and prior not in MAKERS:
        raise ParameterError(f"prior is 'dirichlet', 'bdeu' or a function of alpha, not {prior!r}")
    if not len(alphas):
        raise ParameterError("name at least one alpha to try")
    make = prior if callable(prior) else MAKERS[prior]
    asked: Any = models if isinstance(models, Mapping | list | tuple) else [models]
    named = [methods] if isinstance(methods, str) else list(methods)
    rows, done, interrupted = as_source(table), list[Comparison](), False
    for alpha in alphas:
        told = None if watch is None else _under(watch, len(done), len(alphas), alpha)
        try:
            done.append(compare(asked, rows, named, prior=make(float(alpha)), watch=told, **options))
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
        if interrupted := interrupted or done[-1].interrupted:
            break
    word = prior if isinstance(prior, str) else getattr(prior, "__name__", "alpha")
    return Sensitivity(np.array(alphas[: len(done)], dtype=np.float64), tuple(done), word, interrupted)


def _under(
    watch: Callable[[int, int, str], object], done: int, priors: int, alpha: float
) -> Callable[[int, int, str], object]:
    """Return what tells of the comparison under one of several priors."""
    return lambda i, n, what: watch(done * n + i, priors * n, f"alpha = {alpha:g}, {what}")
