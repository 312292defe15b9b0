"""Latent class models of highest likelihood, and how well they tell rows apart."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array
from lacunary.model.make import naive_bayes
from lacunary.study.glance import entropies

__all__ = ["ClassFit", "by_size", "class_fit", "climbed", "fit_classes", "refitted"]

STOP = Stop(relative=1e-12)
AGAIN = Stop(relative=1e-9)
"""Of fits to simulated rows, whose likelihoods are compared to some hundredths of a nat."""


@dataclass(frozen=True, eq=False)
class ClassFit:
    """A latent class model of highest likelihood: columns are independent given a hidden class.

    Attributes
    ----------
    table, hidden
        The rows, and the name of the class.
    network
        The model, classes from the largest on.
    log_likelihood
        In nats.
    posterior
        The probability of each class in each row; (rows, classes).
    """

    table: Table
    hidden: str
    network: Network
    log_likelihood: float
    posterior: Array

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.network.dag.schema[self.hidden].size)

    @property
    def labels(self) -> list[str]:
        """What the classes are called."""
        return [str(state) for state in self.network.dag.schema[self.hidden].states]

    @property
    def parameters(self) -> int:
        """How many free parameters the model has."""
        return self.network.dag.free

    @property
    def criteria(self) -> dict[str, float]:
        """Information criteria as they are published: −2 log-likelihood plus a penalty, lower is better."""
        deviance, d, n = -2 * self.log_likelihood, self.parameters, self.table.size
        bic = deviance + d * np.log(n)
        return {
            "AIC": deviance + 2 * d,
            "AIC3": deviance + 3 * d,
            "BIC": float(bic),
            "CAIC": float(bic + d),
            "SABIC": float(deviance + d * np.log((n + 2) / 24)),
            "ICL": float(bic + 2 * self.table.weights @ entropies(self.posterior)),
        }

    @property
    def entropy_r2(self) -> float:
        """How well rows tell the class, from 0 to 1: 1 − mean entropy of the posterior / that of the shares.

        That of the shares is taken as log K, as in Mplus and poLCA's relatives; 1 for a single class.
        """
        if self.classes == 1:
            return 1.0
        doubt = self.table.weights @ entropies(self.posterior)
        return float(1 - doubt / (self.table.size * np.log(self.classes)))

    @property
    def assigned(self) -> Any:
        """The most probable class of each row."""
        return self.posterior.argmax(axis=1)

    @property
    def classification(self) -> Array:
        """Expected numbers of rows by class and by the class they are assigned to; (classes, classes)."""
        hard = np.eye(self.classes)[self.assigned]
        return np.asarray((self.posterior * self.table.weights[:, None]).T @ hard)

    @property
    def classification_error(self) -> float:
        """The expected share of rows that are assigned to a class that is not theirs."""
        return float(1 - np.trace(self.classification) / self.table.size)

    @property
    def average_posterior(self) -> Array:
        """Mean posterior of each class among rows assigned to each; (assigned, classes)."""
        table = self.classification
        total = table.sum(axis=0)
        return np.asarray((table / np.where(total > 0, total, 1)).T)


def fit_classes(
    table: Table, classes: int, *, hidden: str = "class", starts: int = 20, rng: Any = 0, watch: Any = None
) -> ClassFit:
    """Return the latent class model of highest likelihood, from many starts."""
    if classes < 1:
        raise ParameterError(f"there must be one class at least, not {classes}")
    if hidden in table.schema:
        raise SchemaError(f"there is a column {hidden!r} already; call the class otherwise: hidden=…")
    dag = naive_bayes(table.schema, hidden=hidden, states=classes)
    found = fit(dag, table, method="ml", starts=starts, stop=STOP, rng=rng, watch=watch)
    return class_fit(found.network, table, hidden)


def refitted(network: Network, table: Table, hidden: str, starts: int = 0, rng: Any = 0) -> ClassFit:
    """Return the model fitted to other rows, from its own parameters and, if wanted, from others too."""
    found = [fit(network.dag, table, method="ml", initial=network, stop=AGAIN)]
    if starts:
        found.append(fit(network.dag, table, method="ml", starts=starts, stop=AGAIN, rng=rng))
    best = max(found, key=lambda one: one.log_likelihood)
    return class_fit(best.network, table, hidden, sort=False)


def climbed(network: Network, table: Table, hidden: str) -> ClassFit:
    """Return the model climbed to from a network, whose class may be called otherwise, classes by size."""
    [name] = network.dag.schema.hidden or [hidden]
    return class_fit(refitted(network, table, name).network, table, name)


def class_fit(network: Network, table: Table, hidden: str, sort: bool = True) -> ClassFit:
    """Return a network with a hidden class above all columns as a fit, classes named A, B, … by size."""
    if network.dag.schema.hidden != (hidden,) or any(
        network.dag.parents_of(name) != (hidden,) for name in network.dag.names if name != hidden
    ):
        raise ParameterError("a latent class model has one hidden class, the only parent of every column")
    if sort:
        network = by_size(network, hidden)
    rows = table.align(network.dag.schema)
    posterior = network.posterior(rows, [hidden])[hidden]
    used = table.select([name for name in network.dag.names if name != hidden])
    return ClassFit(used, hidden, network, network.log_likelihood(rows), posterior)


def by_size(network: Network, hidden: str) -> Network:
    """Return the network with its classes named A, B, … from the most probable on."""
    order = np.argsort(-network.table(hidden), kind="stable")
    k = len(order)
    labels = list(ascii_uppercase[:k]) if k <= len(ascii_uppercase) else [f"C{i + 1}" for i in range(k)]
    items = Schema(tuple(v for v in network.dag.schema if v.name != hidden))
    dag = naive_bayes(items, hidden=hidden, states=labels)
    return Network.from_tables(dag, {name: given[order] for name, given in network.tables.items()})
