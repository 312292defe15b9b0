"""The verb `classes`: fit every number of hidden classes, compare the models, look at the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import Any

from lacunary.budget import budgeted
from lacunary.data.fingerprint import Fingerprint, fingerprint, same_run
from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.evidence.compare import Comparison, compare
from lacunary.exactness import announced
from lacunary.infer.answers import as_source
from lacunary.learn.fit import Fit, fit
from lacunary.learn.groups import Groups
from lacunary.learn.loop import Progress
from lacunary.learn.stop import Stop
from lacunary.model.make import naive_bayes
from lacunary.study.class_fit import by_size
from lacunary.study.profile import Candidate
from lacunary.study.result import Classes, deciding
from lacunary.study.trail import ClassesTrail

__all__ = ["METHODS", "classes"]

METHODS = ("bic", "sbic", "cheeseman-stutz", "variational", "laplace")
"""Estimates of the evidence that are quick where fits are."""

STOP = Stop(relative=1e-10)
"""Tighter than the default: log-likelihoods are printed to a tenth of a nat and compared."""

Watch = Callable[[int, Progress], object]
Tell = Callable[[int, int, str], object]


@budgeted
@announced
def classes(
    table: Any,
    components: int | Iterable[int] = range(1, 7),
    *,
    hidden: str = "class",
    aside: str | None = None,
    starts: int = 20,
    rng: int = 0,
    watch: Watch | None = None,
    tell: Tell | None = None,
    resume: ClassesTrail | None = None,
    exact: bool = False,
    memory: str | float | None = None,
) -> Classes:
    """Return how many hidden classes of rows a table speaks for, and what each is like.

    For every number of classes a hidden variable above all columns is fitted from many starts, to all rows,
    those with holes too; the models are compared by five estimates of their evidence.

    Parameters
    ----------
    table
        Rows with holes: a table, a frame, an array or a path. Given the class, columns are independent and
        continuous ones are normal.
    components
        The numbers of classes to try, or one.
    hidden
        What to call the class.
    aside
        A discrete column that is not used to find the classes, but shown beside them.
    starts, rng
        As for `lacunary.fit`.
    watch
        Called after every sweep of a fit with the number of classes and a `Progress`; a true answer ends
        the work. A `Checkpoint` can be one.
    tell
        Called during the comparison, as ``watch`` of `lacunary.compare`.
    resume
        Go on from here: what `Checkpoint` wrote, loaded, with the same rows, name, starts and seed. What
        is fitted already is not fitted again; numbers of classes may be others.
    exact, memory
        As in `lacunary.fit`.

    Raises
    ------
    KeyboardInterrupt
        If a fit was interrupted: numbers of classes that were not fitted cannot be compared.

    Examples
    --------
    >>> import lacunary as lac
    >>> blocs = lac.classes(lac.house_votes(), [1, 2], hidden="bloc", aside="party", starts=2)
    >>> blocs.number, blocs.labels
    (2, ('A', 'B'))
    >>> blocs.posterior.shape, blocs.assign()[:2]
    ((435, 2), ['B', 'B'])
    """
    rows = as_source(table)
    used = rows.mapped(methodcaller("select", [name for name in rows.schema.names if name != aside]))
    kept = None if aside is None else rows.mapped(methodcaller("select", [aside]))
    if kept is not None and not kept.schema.variables[0].discrete:
        raise ParameterError(
            f"{aside} is continuous; what is kept aside must be discrete: read the table with "
            f"kinds={{{aside!r}: 'discrete'}}"
        )
    numbers = [components] if isinstance(components, int) else list(components)
    if not numbers:
        raise ParameterError("name at least one number of classes to try")
    of = fingerprint(used, hidden=hidden, starts=starts, rng=rng)
    fits = _fits(used, hidden, numbers, starts, rng, watch, resume or ClassesTrail(of, {}), of)
    at = {"bic": {"at": "ml"}}
    compared = compare(fits, used, METHODS, starts=starts, stop=STOP, options=at, rng=rng, watch=tell)
    if compared.interrupted:
        raise KeyboardInterrupt
    candidates = _candidates(numbers, fits, compared)
    best = max(candidates, key=lambda candidate: candidate.log_evidence[deciding(used)])
    network = by_size(best.fit.network, hidden)
    return Classes(used, hidden, kept, candidates, compared, network)


def _fits(
    table: Source,
    hidden: str,
    numbers: Sequence[int],
    starts: int,
    rng: int,
    watch: Watch | None,
    earlier: ClassesTrail,
    kept: Fingerprint,
) -> list[Fit]:
    """Return a fit for every number of classes: what an earlier study has of them, and the others."""
    same_run(kept, earlier.fingerprint)
    done = dict(earlier.fits)
    for k in numbers:
        if k in done:
            continue
        begun = earlier.climbs[1] if earlier.climbs is not None and earlier.climbs[0] == k else None
        dag = naive_bayes(table.schema, hidden=hidden, states=k)
        told = None if watch is None else _told(watch, k, done, kept)
        many = Groups(starts) if begun is None else None
        done[k] = fit(dag, table, starts=many, initial=begun, stop=STOP, rng=rng, watch=told)
        if done[k].interrupted:
            raise KeyboardInterrupt
    return [done[k] for k in numbers]


def _told(watch: Watch, k: int, done: Mapping[int, Fit], kept: Fingerprint) -> Callable[[Progress], object]:
    """Return a ``watch`` of one fit that is told of it as a part of the study."""
    before = dict(done)

    def told(progress: Progress) -> object:
        return watch(k, _Part(progress, lambda: ClassesTrail(kept, before, (k, progress.trail()))))

    return told


class _Part(Progress):
    """How far a fit is that is a part of a study, which is what can be gone on from."""

    def __init__(self, progress: Progress, study: Callable[[], ClassesTrail]) -> None:
        super().__init__(**vars(progress))
        object.__setattr__(self, "trail", study)


def _candidates(numbers: Sequence[int], fits: Sequence[Fit], compared: Comparison) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(k, found, found.dag.free, {m: float(compared.values(m)[i]) for m in METHODS})
        for i, (k, found) in enumerate(zip(numbers, fits, strict=True))
    )
