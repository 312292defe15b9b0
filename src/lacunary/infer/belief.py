"""Conjugate beliefs about the parameters of a network, and the rules that start them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.family.protocol import Family
from lacunary.infer.answers import Answers
from lacunary.maths import special
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.rows import Rows

__all__ = [
    "WEIGHT_SD",
    "BDeu",
    "Belief",
    "Dirichlet",
    "NormalWeights",
    "Prior",
    "PriorBelief",
    "PriorNetwork",
    "bdeu",
    "k2",
    "prior_network",
    "with_regressions",
]

WEIGHT_SD = float(np.pi / np.sqrt(3.0))
"""Standard deviation of a sigmoid family's weights: that of the log-odds of a uniform probability."""


@dataclass(frozen=True, eq=False)
class Belief(Answers):
    """What is believed about the parameters of a network.

    For each table it is a Dirichlet, and for each regression the normal–inverse-gamma distribution that
    follows from a Normal–Wishart (`lacunary.maths.regression`); other families have their own.

    Prior and posterior are the same type: ``alpha`` holds one hyperparameter α_ijk for each θ_ijk and the
    pseudo-moments T of each regression, in the places given by ``dag.layout`` for statistics: rows are
    learned by adding theirs. Asked about a row, a belief answers with the parameters integrated out: tables
    are those of its `mean`, regressions Student t, and the density of a row is a ratio of evidences. (Where
    an observed cell depends on a continuous hole, normals of the same location and scale stand for the t; see
    `lacunary.infer.predictive`. Rows are sampled with the parameters of `mean`.)

    Attributes
    ----------
    dag, alpha
        The graph, and the hyperparameters; (statistics size,).
    surplus
        α − ν − n of the Normal–Wishart, which no row changes: a regression on m continuous parents has
        T₀₀ + surplus + m + 1 degrees of freedom.
    standard
        Whether the pseudo-moments speak of standardised columns, as those of a prior do that leaves units
        to the table; `lacunary.infer.scale` moves them.
    relative
        The same of families whose columns are not standardised: whether their hyperparameters speak of
        values measured by the column's mean.
    weight_sd
        Standard deviation of the weights of sigmoid families, independent and normal around zero. Nothing is
        conjugate to these, so a belief cannot learn them: their Dirichlets mean nothing.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.read({"coin": ["heads"] * 3 + ["tails"]})
    >>> belief = lac.fit("coin", rows, prior=lac.Dirichlet(1.0)).belief
    >>> round(belief.query("coin")["heads"], 4)                      # (3 + 1) / (4 + 2)
    0.6667
    """

    dag: Dag
    alpha: NDArray[np.float64]
    surplus: float = 0.0
    standard: bool = False
    weight_sd: float = WEIGHT_SD
    relative: bool = False

    def __repr__(self) -> str:
        return f"<Belief: {len(self.dag.names)} variables, {len(self.dag.arcs)} arcs>"

    def __post_init__(self) -> None:
        layout = self.dag.layout
        if self.alpha.shape != (layout.statistics_size,):
            raise ParameterError(
                f"the network has {layout.statistics_size} hyperparameters, the belief {self.alpha.shape}"
            )
        if not np.all(np.isfinite(self.alpha)) or np.any(self.alpha[: layout.tables] <= 0):
            raise ParameterError("every Dirichlet hyperparameter must be positive and finite")
        for i, family in self.dag.numeric:
            problem = family.check_hyper(self.hyper(i), self.surplus)
            if problem:
                raise ParameterError(problem)
        _check_positive("weight_sd", self.weight_sd)
        self.alpha.flags.writeable = False

    def hyper(self, i: int) -> NDArray[np.float64]:
        """Return the hyperparameters of continuous variable i's family; (configurations, statistics)."""
        return self.dag.layout.statistics(self.alpha, i)

    def dof(self, i: int) -> NDArray[np.float64]:
        """Return the degrees of freedom of continuous variable i's regressions; (configurations,)."""
        moments = self.dag.layout.moments(self.alpha, i)
        return np.asarray(moments[:, 0, 0] + self.surplus + moments.shape[-1] - 1)

    @property
    def log_normalizer(self) -> float:
        """What makes the densities integrate to one: −log ∫ of their kernels, added up.

        Σ_ij [log Γ(Σ_k α_ijk) − Σ_k log Γ(α_ijk)] − Σ over other families of log Z.
        """
        layout = self.dag.layout
        tables = self.alpha[: layout.tables]
        dirichlet = float(special.gammaln(layout.total(tables)).sum() - special.gammaln(tables).sum())
        parts = (family.log_normalizer(self.hyper(i), self.surplus) for i, family in self.dag.numeric)
        return dirichlet - sum(float(part.sum()) for part in parts)

    def mean(self) -> NDArray[np.float64]:
        """E[θ], which is also the predictive probability of the next row's states.

        Of a regression it is the expected intercept and coefficients, and the scale s/dof of its predictive
        Student t in place of a variance; see `lacunary.maths.regression.predictive` for that itself.
        """
        for family in _chosen(self.dag):
            if not family.conjugate:
                raise ParameterError(
                    f"{family.variable.name} has a {family.name} family, whose predictive "
                    "probabilities are not known in closed form; ask the network of a fit"
                )
        layout = self.dag.layout
        tables = self.alpha[: layout.tables]
        out = np.empty(layout.size)
        out[: layout.tables] = tables / layout.total(tables)[layout.group]
        for i, family in self.dag.numeric:
            layout.records(out, i)[:] = family.mean(self.hyper(i), self.surplus)
        return out

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return parameters drawn from the belief, in the places given by ``dag.layout``; (size,)."""
        layout, out = self.dag.layout, np.empty(self.dag.layout.size)
        out[: layout.tables] = layout.drawn(self.alpha[: layout.tables], rng)
        for i, family in self.dag.numeric:
            layout.records(out, i)[:] = family.draw(self.hyper(i), self.surplus, rng)
        return out

    def parameters(self) -> NDArray[np.float64]:
        """Return the predictive probabilities: `mean`."""
        return self.mean()

    def prepared(self, table: Source) -> Rows:
        """Return rows laid out for answers in which regressions are Student t."""
        if not self.dag.continuous:
            return super().prepared(table)
        from lacunary.infer.predictive import prepare_predictive  # which loads continuous variables
        from lacunary.infer.rows import laid_by

        return laid_by(partial(prepare_predictive, self), self.dag, table)


class Prior(Protocol):
    """A rule that gives any Dag its starting belief."""

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief about this graph's parameters before any data."""
        ...


@dataclass(frozen=True)
class Dirichlet:
    """The same hyperparameter for every parameter: 1 is uniform, CH96 uses 1.01.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.read({"coin": ["heads"] * 3 + ["tails"]})
    >>> network = lac.fit("coin", rows, prior=lac.Dirichlet(2.0), basis="probability").network
    >>> round(network.query("coin")["heads"], 4)                     # (3 + 2 - 1) / (4 + 2 * (2 - 1))
    0.6667
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_positive("alpha", self.alpha)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = alpha."""
        dag.layout.check_room()
        return with_regressions(dag, np.full(dag.layout.tables, float(self.alpha)))


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """A belief about the parameters of one graph, as a rule: what a fit in a file knows of its prior."""

    belief: Belief

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief, if the graph is its own."""
        if dag != self.belief.dag:
            raise ParameterError(
                "this prior was read from a file and speaks of one graph alone; give prior= for another"
            )
        return self.belief


@dataclass(frozen=True)
class NormalWeights:
    """Independent normal weights around zero for sigmoid families, and another prior for all others.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("smoke -> cough", family={"cough": "sigmoid"})
    >>> rows = lac.random_network(graph, rng=0).sample(50, rng=0)
    >>> lac.fit(graph, rows, prior=lac.NormalWeights(1.0)).converged
    True
    """

    sd: float = WEIGHT_SD
    others: Prior = field(default_factory=Dirichlet)

    def __post_init__(self) -> None:
        _check_positive("sd", self.sd)

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief of ``others``, with this standard deviation of the weights."""
        return replace(self.others(dag), weight_sd=float(self.sd))


@dataclass(frozen=True)
class BDeu:
    """Hyperparameters worth ``ess`` rows in all, spread evenly over each table."""

    ess: float = 1.0

    def __post_init__(self) -> None:
        _check_positive("ess", self.ess)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = ess / (r_i q_i)."""
        layout = dag.layout
        layout.check_room()
        places = np.array([r * q for r, q in zip(layout.states, layout.configurations, strict=True)])
        return with_regressions(dag, self.ess / places[layout.variable])


@dataclass(frozen=True, eq=False)
class PriorNetwork:
    """Hyperparameters worth ``ess`` rows drawn from a network that is thought likely beforehand."""

    network: Answers
    ess: float

    def __post_init__(self) -> None:
        _check_positive("ess", self.ess)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = ess · p(variable i in state k, its parents in configuration j), GHM96 section 2.

        Tied families share a table, and so what the rows drawn would tell of it: theirs are added.
        """
        alpha = np.zeros(dag.layout.tables)
        for i, name in enumerate(dag.names):
            if not dag.schema[name].discrete:
                continue
            self._check(dag, name)
            family = self.network.query(*dag.parents[i], name).probabilities
            if family.min() <= 0:
                raise ParameterError(
                    f"the prior network gives a state of {name} probability zero; a prior must not"
                )
            alpha[dag.layout.slice(i)] += self.ess * dag.layout.flat(family)
        return with_regressions(dag, alpha)

    def _check(self, dag: Dag, name: str) -> None:
        known = self.network.dag.schema
        if name not in known or known[name].states != dag.schema[name].states:
            raise ParameterError(f"the prior network does not have the variable {name} with the same states")


def with_regressions(
    dag: Dag, tables: NDArray[np.float64], about: NormalWishart | None = None, standard: bool = True
) -> Belief:
    """Return the belief with these Dirichlets, and regressions that follow from a Normal–Wishart.

    Every configuration of discrete parents has the same Normal–Wishart about all continuous variables, in
    the schema's order; by default one worth a row of mean zero and covariance one in standardised columns.
    Families that are no regressions have a prior of their own.
    Tied families share a regression, and so what the rows it is worth would tell of it: theirs are added, as
    those of a table's rows are.
    """
    layout, n = dag.layout, len(dag.continuous)
    if not n:
        return Belief(dag, tables)
    known = about or NormalWishart(1.0, np.zeros(n), 1.0 + n, np.eye(n))
    alpha = np.concatenate([tables, np.zeros(layout.statistics_size - layout.tables)])
    place = {v: k for k, v in enumerate(dag.continuous)}
    for i in dag.continuous:
        family = dag.number(i)
        own = known.family(place[i], [place[p] for p in layout.regressors[i]])[0]
        layout.statistics(alpha, i)[:] += family.prior(own)
    return Belief(dag, alpha, known.surplus, standard, relative=True)


def prior_network(network: Answers, ess: float) -> PriorNetwork:
    """Return the prior worth ``ess`` rows drawn from a network (GHM96 section 2).

    Examples
    --------
    >>> import lacunary as lac
    >>> expected = lac.Network.from_tables(lac.dag("coin"), {"coin": [0.5, 0.5]})
    >>> rows = lac.read({"coin": [1] * 10}, kinds={"coin": "discrete"}, states={"coin": [0, 1]})
    >>> belief = lac.fit(expected.dag, rows, prior=lac.prior_network(expected, ess=10)).belief
    >>> round(belief.query("coin")[1], 4)                            # (10 + 5) / (10 + 10)
    0.75
    """
    return PriorNetwork(network, ess)


def k2() -> Dirichlet:
    """Return the prior of Cooper and Herskovits' K2: every hyperparameter is 1.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.asia().sample(100, rng=0)
    >>> lac.score("smoke -> bronc", rows, "exact", prior=lac.k2()).kind
    'exact'
    """
    return Dirichlet(1.0)


def bdeu(ess: float = 1.0) -> BDeu:
    """Return the likelihood-equivalent uniform prior worth ``ess`` rows.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.fit("smoke -> bronc", lac.asia().sample(100, rng=0), prior=lac.bdeu(10)).converged
    True
    """
    return BDeu(ess)


def _chosen(dag: Dag) -> list[Family]:
    """Return the families that are not the default of their kind."""
    return [dag.families[dag.schema.index(name)] for name, _ in dag.family]


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be positive and finite, not {value}")
