"""Find hidden classes in a table: fit each number of them, weigh the models, look at the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_uppercase

import numpy as np

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.evidence.compare import Comparison, compare
from lacunary.infer.network import Network
from lacunary.learn.fit import Fit, fit
from lacunary.learn.loop import Progress
from lacunary.learn.stop import Stop
from lacunary.model.make import naive_bayes
from lacunary.report.record import DECIDES, Candidate, Study

__all__ = ["METHODS", "study"]

METHODS = ("bic", DECIDES, "variational", "laplace")
"""Estimates of the evidence that are quick where fits are."""

STOP = Stop(relative=1e-10)
"""Tighter than the default: log-likelihoods are printed to a tenth of a nat and compared."""

Watch = Callable[[int, Progress], object]
Tell = Callable[[int, int, str], object]


def study(
    table: Table,
    *,
    hidden: str = "class",
    classes: Iterable[int] = range(1, 7),
    aside: str | None = None,
    starts: int = 20,
    rng: int = 0,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Study:
    """Fit a hidden class with each number of states above all columns of a table, and compare.

    Parameters
    ----------
    table
        Rows with holes. Given the class, continuous columns are normal, each by itself.
    hidden
        What to call the class.
    classes
        The numbers of states to try.
    aside
        A discrete column that is not used to find the classes, but shown beside them.
    starts, rng
        As for `fit`.
    watch
        Called after every sweep of a fit with the number of states and a `Progress`; a true answer ends
        the study.
    tell
        Called during the comparison, as ``watch`` of `compare`.

    Raises
    ------
    KeyboardInterrupt
        If a fit was interrupted: numbers of states that were not fitted cannot be compared.
    """
    used = table.select([name for name in table.schema.names if name != aside])
    kept = None if aside is None else table.select([aside])
    if kept is not None and not kept.schema.variables[0].discrete:
        raise ParameterError(
            f"{aside} is continuous; what is kept aside must be discrete: read the table with "
            f"kinds={{{aside!r}: 'discrete'}}"
        )
    numbers = list(classes)
    if not numbers:
        raise ParameterError("name at least one number of classes to try")
    fits = [_fitted(used, hidden, k, starts, rng, watch) for k in numbers]
    weighed = compare(fits, used, METHODS, starts=starts, stop=STOP, rng=rng, watch=tell)
    candidates = _candidates(numbers, fits, weighed)
    best = max(candidates, key=lambda candidate: candidate.log_evidence[DECIDES])
    network = _by_size(best.fit.network, used, hidden)
    posterior = network.posterior(used, [hidden])[hidden]
    return Study(used, hidden, kept, candidates, weighed, network, posterior)


def _fitted(table: Table, hidden: str, k: int, starts: int, rng: int, watch: Watch | None) -> Fit:
    dag = naive_bayes(table.schema, hidden=hidden, states=k)
    told = None if watch is None else lambda progress: watch(k, progress)
    found = fit(dag, table, starts=starts, stop=STOP, rng=rng, watch=told)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def _candidates(numbers: Sequence[int], fits: Sequence[Fit], weighed: Comparison) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(k, found, found.dag.free, {m: float(weighed.values(m)[i]) for m in METHODS})
        for i, (k, found) in enumerate(zip(numbers, fits, strict=True))
    )


def _by_size(network: Network, table: Table, hidden: str) -> Network:
    """Return the network with its classes named A, B, … from the most probable on."""
    order = np.argsort(-network.table(hidden), kind="stable")
    k = len(order)
    labels = list(ascii_uppercase[:k]) if k <= len(ascii_uppercase) else [f"C{i + 1}" for i in range(k)]
    tables = {name: given[order] for name, given in network.tables.items()}
    return Network.from_tables(naive_bayes(table.schema, hidden=hidden, states=labels), tables)
