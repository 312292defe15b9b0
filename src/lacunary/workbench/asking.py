"""Answers to clicks: all posteriors of a model under what is given, for networks and for mixtures of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, RLock
from typing import Any

import numpy as np
from scipy.special import logsumexp

import lacunary as lac

__all__ = ["Asked", "Models", "finding_of", "opened"]

COMPONENTS = 60
"""The most normals of a continuous variable's answer that are sent; the least probable are left out."""

QUANTILES = (0.05, 0.5, 0.95)
KEPT = 8
MOST_CELLS = 200_000
"""The most numbers of one table that are sent."""


def opened(thing: Any) -> lac.Network | lac.Mixture:
    """Return the network or mixture that a model file holds."""
    if isinstance(thing, lac.MixtureFit):
        return thing.mixture
    if isinstance(thing, lac.Fit):
        return thing.network
    if isinstance(thing, lac.Network | lac.Mixture):
        return thing
    raise lac.FileError(
        f"a {type(thing).__name__.lower()} has no probabilities to ask; a network, a fit or a mixture does"
    )


def finding_of(variable: lac.Variable, given: dict[str, Any]) -> Any:
    """Return a finding as the engine takes it, from ``state`` (a place), ``likelihood`` or ``value``."""
    if "value" in given:
        return given["value"]
    if not variable.discrete:
        raise lac.StateError(f"{variable.name} is continuous: a finding about it is a value")
    if "state" in given:
        if not 0 <= given["state"] < variable.size:
            raise lac.StateError(f"{variable.name} has states 0 to {variable.size - 1}, not {given['state']}")
        return variable.states[given["state"]]
    likelihood = given["likelihood"]
    if len(likelihood) != variable.size:
        raise lac.StateError(f"{variable.name} has {variable.size} states, not {len(likelihood)}")
    return dict(zip(variable.states, likelihood, strict=True))


class Asked:
    """A model that is asked again and again: a network, or a mixture with a box for its component.

    The component of a mixture is asked and given like a variable, under the name ``component``.
    """

    def __init__(self, model: lac.Network | lac.Mixture) -> None:
        self.model = model
        self.lock = Lock()
        self.parts = (model,) if isinstance(model, lac.Network) else model.components
        self.engines = [part.engine() for part in self.parts]
        self.schema = self.parts[0].dag.schema
        self.mixed = isinstance(model, lac.Mixture)
        names = ["component", *(f"component {i}" for i in range(len(self.schema) + 1))]
        self.component = next(name for name in names if name not in self.schema)
        many = len(model.weights) if isinstance(model, lac.Mixture) else 0
        noise = isinstance(model, lac.Mixture) and model.noise is not None
        labels = [str(c + 1) for c in range(many - noise)] + (["noise"] if noise else [])
        self.which = lac.Variable(self.component, tuple(labels)) if self.mixed else None

    @property
    def variables(self) -> tuple[lac.Variable, ...]:
        """The variables that have a box; of a mixture its component first."""
        return (*((self.which,) if self.which else ()), *self.schema)

    def findings(self, given: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return what is given, by name, as the engine takes it."""
        own = {self.component: self.which} if self.which else {}
        return {name: finding_of(own.get(name) or self.schema[name], one) for name, one in given.items()}

    def ask(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the posterior of every variable, in order, and the probability of what is given."""
        with self.lock:
            if not self.mixed:
                _set(self.engines[0], given)
                answers, log = _answers(self.engines[0], self.schema), self.engines[0].log_probability
                return {"log_probability": log, "marginals": [told(one) for one in answers]}
            shares, log, answers = self._mixed(given)
            first = {"p": shares.tolist()}
            return {"log_probability": log, "marginals": [first, *(told(one) for one in answers)]}

    def _mixed(self, given: dict[str, Any]) -> tuple[Any, float, list[Any]]:
        """Return how probable each component is, the log-density of what is given, and every posterior."""
        assert isinstance(self.model, lac.Mixture)
        rest = {name: finding for name, finding in given.items() if name != self.component}
        with np.errstate(divide="ignore"):
            logs = np.log(self.model.weights) + np.log(self._chosen(given.get(self.component)))
        for c, engine in enumerate(self.engines):
            _set(engine, rest)
            logs[c] += engine.log_probability
        if self.model.noise is not None:
            logs[-1] += self._noise(rest)
        log = float(logsumexp(logs))
        if not np.isfinite(log):
            raise lac.ImpossibleRowError("what is given has probability zero")
        shares = np.exp(logs - log)
        used = [c for c in range(len(self.engines)) if shares[c] > 0]
        parts = [_answers(self.engines[c], self.schema) for c in used]
        return shares, log, [self._added(i, rest, shares, used, parts) for i in range(len(self.schema))]

    def _chosen(self, finding: Any) -> Any:
        """Return the likelihood of each component that a finding about it says."""
        assert self.which is not None
        if finding is None:
            return np.ones(self.which.size)
        if isinstance(finding, dict):
            return np.array(list(finding.values()), dtype=np.float64) / max(finding.values())
        return np.eye(self.which.size)[self.which.code[finding]]

    def _noise(self, rest: dict[str, Any]) -> float:
        """Return the log-density of what is given under the noise, in which all variables are uniform."""
        assert isinstance(self.model, lac.Mixture)
        assert self.model.noise is not None
        soft = {n: f for n, f in rest.items() if isinstance(f, dict)}
        cells = {v.name: [rest.get(v.name) if v.name not in soft else None] for v in self.schema}
        row = lac.read(cells, schema=self.schema.reveal())
        out = float(self.model.noise.log_density(row)[0])
        with np.errstate(divide="ignore"):
            return out + sum(
                float(np.log(np.mean(list(f.values())) / max(f.values()))) for f in soft.values()
            )

    def _added(self, i: int, rest: dict[str, Any], shares: Any, used: list[int], parts: list[Any]) -> Any:
        """Return one variable's posterior: its components' answers, weighted by their shares."""
        variable, given = self.schema.variables[i], rest.get(self.schema.names[i])
        noise = self.mixed and len(shares) > len(self.engines) and shares[-1] > 0
        if variable.discrete:
            total = sum(shares[c] * part[i].probabilities for c, part in zip(used, parts, strict=True))
            return total + shares[-1] * _uniform(variable, given) if noise else np.asarray(total)
        stacked = [
            np.stack([shares[c] * part[i].weights, part[i].means, part[i].sds])
            for c, part in zip(used, parts, strict=True)
        ]
        if noise:
            assert isinstance(self.model, lac.Mixture)
            assert self.model.noise is not None
            low, high = self.model.noise.low[i], self.model.noise.high[i]
            middle, wide = ((low + high) / 2, (high - low) / np.sqrt(12.0)) if given is None else (given, 0.0)
            stacked.append(np.array([[shares[-1]], [middle], [wide]]))
        weights, means, sds = np.concatenate(stacked, axis=1)
        return lac.NormalMixture(variable, weights, means, sds)

    def shown(self) -> dict[str, Any]:
        """Return the variables and arcs; of a mixture, each component's arcs and weight."""
        return {
            "kind": "mixture" if self.mixed else "network",
            "component": self.component if self.mixed else None,
            "variables": [_variable(v) for v in self.variables],
            "arcs": sorted({arc for part in self.parts for arc in part.dag.arcs}),
            "components": [
                {"weight": w, "arcs": list(part.dag.arcs)}
                for w, part in zip(getattr(self.model, "weights", [1.0]), self.parts, strict=False)
            ],
            "parameters": self.model.dimension
            if isinstance(self.model, lac.Mixture)
            else self.parts[0].dag.free,
        }

    def explain(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the jointly most probable states of all variables: of a mixture, of its best component."""
        rest = {name: finding for name, finding in given.items() if name != self.component}
        with self.lock:
            best: tuple[float, dict[str, Any]] = (-np.inf, {})
            weights = np.ones(1) if not self.mixed else self.model.weights * self._chosen(  # type: ignore[union-attr]
                given.get(self.component)
            )  # fmt: skip
            for c, engine in enumerate(self.engines):
                if weights[c] <= 0:
                    continue
                _set(engine, rest)
                if not np.isfinite(engine.log_probability):
                    continue
                found = engine.explain()
                log = float(np.log(weights[c])) + self.parts[c].log_density(found)
                if log > best[0]:
                    best = (log, found | ({self.component: str(c + 1)} if self.mixed else {}))
        if not best[1]:
            raise lac.ImpossibleRowError("what is given has probability zero")
        out = {}
        for v in self.variables:
            out[v.name] = {"state": v.code[best[1][v.name]]} if v.discrete else {"value": best[1][v.name]}
        return {"log_probability": best[0], "states": out}

    def family(self, name: str, component: int) -> dict[str, Any]:
        """Return what a variable depends on, and how: its table or regression, with labels."""
        part = self.parts[component]
        variable, parents = part.dag.schema[name], part.dag.parents_of(name)
        table = part.table(name)
        if table.size > MOST_CELLS:
            raise lac.TooWideError(
                f"the table of {name} has {table.size} numbers; export the model to see them"
            )
        discrete = [p for p in parents if part.dag.schema[p].discrete]
        records = table.reshape(-1, table.shape[-1])
        if variable.discrete:
            columns, rows = [str(s) for s in variable.states], records.tolist()
        else:
            told = [part.dag.number(part.dag.schema.index(name)).named(record) for record in records]
            columns, rows = list(told[0]), [list(each.values()) for each in told]
        return {
            "name": name,
            "family": part.dag.family_of(name),
            "parents": discrete,
            "parent_states": [[str(s) for s in part.dag.schema[p].states] for p in discrete],
            "columns": columns,
            "rows": rows,
        }


def _variable(variable: lac.Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "kind": variable.kind,
        "states": [str(state) for state in variable.states],
        "hidden": variable.hidden,
        "ordered": variable.ordered,
    }


def _uniform(variable: lac.Variable, given: Any) -> Any:
    """Return a state's probabilities under the noise, given what is known of the variable itself."""
    if given is None:
        return np.full(variable.size, 1.0 / variable.size)
    if isinstance(given, dict):
        likelihood = np.array(list(given.values()), dtype=np.float64)
        return likelihood / likelihood.sum()
    return np.eye(variable.size)[variable.code[given]]


def _set(engine: Any, given: dict[str, Any]) -> None:
    """Have an engine know just this; what it knows already is not touched."""
    known = engine.given
    gone = [name for name in known if name not in given]
    if gone:
        engine.retract(*gone)
    changed = {
        name: finding for name, finding in given.items() if name not in known or known[name] != finding
    }
    if changed:
        engine.set(changed)


def _answers(engine: Any, schema: lac.Schema) -> list[Any]:
    """Return every variable's posterior; an error's text where a family has no answer."""
    if all(variable.discrete for variable in schema):
        found = engine.marginals()
        return [found[name] for name in schema.names]
    return [engine.query(name) for name in schema.names]


def told(answer: Any) -> dict[str, Any]:
    """Return a posterior as plain numbers: ``p`` of states, or normals with mean, sd and quantiles.

    Where exact inference does not fit, the largest standard error of the states stands beside them.
    """
    if isinstance(answer, np.ndarray):
        return {"p": answer.tolist()}
    if isinstance(answer, lac.Distribution):
        drawn = {} if answer.error is None else {"error": float(answer.error.max())}
        return {"p": answer.probabilities.tolist(), **drawn}
    order = np.argsort(-answer.weights, kind="stable")[:COMPONENTS]
    parts = np.stack([answer.weights, answer.means, answer.sds], axis=-1)[order]
    return {
        "mean": float(answer.mean),
        "sd": float(answer.sd),
        "quantiles": [float(answer.quantile(p)) for p in QUANTILES],
        "normals": parts[parts[:, 0] > 0].tolist(),
    }


class Models:
    """The models of a workspace, the last that were asked kept ready."""

    def __init__(self, path_of: Any) -> None:
        self._path_of, self._held, self._lock = path_of, OrderedDict[str, Asked](), RLock()

    def asked(self, key: str) -> Asked:
        """Return a model ready to be asked."""
        path: Path = self._path_of(key)
        with self._lock:
            if key not in self._held:
                self._held[key] = Asked(opened(lac.load(path)))
            self._held.move_to_end(key)
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
            return self._held[key]

    def forget(self, keys: Sequence[str]) -> None:
        """Let go of models that are no more."""
        with self._lock:
            for key in keys:
                self._held.pop(key, None)
