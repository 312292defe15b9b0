"""Bayesian networks, and mixtures of them, from data with holes.

>>> import lacunary as lac
>>> votes = lac.house_votes()
>>> blocs = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
>>> network = lac.fit(blocs, votes, rng=0).network
>>> bool(network.query("bloc", given={"party": "democrat"}).probabilities.max() > 0.8)
True

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacunary.budget import memory
    from lacunary.causal.adjustment import Adjustment, adjustment
    from lacunary.causal.effect import Effect, average_effect
    from lacunary.causal.identification import Identification, identify
    from lacunary.causal.members import ClassAnswers, query_class
    from lacunary.data.absent import keep_rows
    from lacunary.data.datasets import house_votes, soybean
    from lacunary.data.holes import hide, make_holes
    from lacunary.data.read import examine, read
    from lacunary.data.schema import Schema, Variable
    from lacunary.data.table import Table
    from lacunary.dependency.network import DependencyNetwork, learn_dependencies
    from lacunary.dependency.posterior import TransformedMixture
    from lacunary.errors import (
        ApproximationWarning,
        BudgetError,
        FileError,
        GraphError,
        ImpossibleRowError,
        LacunaryError,
        NoEstimateError,
        ParameterError,
        SchemaError,
        SourceError,
        StateError,
        TableError,
        TooWideError,
    )
    from lacunary.evidence.compare import Comparison, compare
    from lacunary.evidence.estimate import Estimate
    from lacunary.evidence.loo import Loo, loo
    from lacunary.evidence.sampled import Sampled, posterior_mean
    from lacunary.evidence.score import score
    from lacunary.evidence.sensitivity import Sensitivity, sensitivity
    from lacunary.family.distribution import Distribution, NormalMixture, StudentMixture
    from lacunary.family.joint import JointMixture
    from lacunary.family.poisson import Poisson
    from lacunary.family.regression import Regression
    from lacunary.family.sigmoid import Sigmoid
    from lacunary.family.uniform import Uniform
    from lacunary.files.checkpoint import Checkpoint
    from lacunary.files.others import from_modelstring, from_networkx, from_pgmpy, from_pyagrum
    from lacunary.files.shipped import alarm, asia
    from lacunary.files.store import load, save
    from lacunary.files.uai import uai_evidence, uai_marginals, write_uai_evidence
    from lacunary.files.whole import write_whole
    from lacunary.infer.belief import (
        BDeu,
        Belief,
        Dirichlet,
        NormalWeights,
        PriorNetwork,
        bdeu,
        k2,
        prior_network,
    )
    from lacunary.infer.divergence import family_distances, kl, marginal_kl
    from lacunary.infer.empirical import Empirical, empirical_prior
    from lacunary.infer.ensemble import Ensemble
    from lacunary.infer.expect import expect
    from lacunary.infer.information import mutual_information, value_of_observation
    from lacunary.infer.mixture import Mixture, Noise
    from lacunary.infer.network import Network, random_network
    from lacunary.infer.parallel import threads
    from lacunary.infer.partitioned import Partitioned
    from lacunary.infer.prior import NormalWishart
    from lacunary.infer.scan import Scan, scan
    from lacunary.infer.tuning import parameter_sensitivity
    from lacunary.learn.around import Around
    from lacunary.learn.fit import Fit, Start, fit, reselect
    from lacunary.learn.groups import Groups
    from lacunary.learn.loop import Progress
    from lacunary.learn.online import Online
    from lacunary.learn.start import Draws, Tournament
    from lacunary.learn.stop import Stop
    from lacunary.maths.pareto import Pareto
    from lacunary.maths.singular import sbic
    from lacunary.mixture.fit import fit_mixture
    from lacunary.mixture.found import MixtureFit, MixtureProgress
    from lacunary.mixture.trail import MixtureTrail
    from lacunary.model.bipartite import bipartite
    from lacunary.model.dag import Dag
    from lacunary.model.distance import arc_changes, structural_hamming_distance
    from lacunary.model.equivalence import cpdag, equivalent
    from lacunary.model.graph import d_separated, moral_graph, skeleton
    from lacunary.model.make import dag, naive_bayes, random_dag
    from lacunary.model.separators import independencies
    from lacunary.model.stats import Stats
    from lacunary.rank.dimension import Dimension, dimension
    from lacunary.report.figures_style import FigureStyle
    from lacunary.structure.anneal import Anneal
    from lacunary.structure.arc_probabilities import ArcProbabilities, arc_probabilities
    from lacunary.structure.average import GraphAverage, average_graphs
    from lacunary.structure.best_first import BestFirst
    from lacunary.structure.climb import Greedy, Tabu
    from lacunary.structure.hidden_trials import search_hidden
    from lacunary.structure.reinsert import Reinsert
    from lacunary.structure.result import SearchResult, Step
    from lacunary.structure.search import search
    from lacunary.structure.structural_em import StructuralResult, structural_em
    from lacunary.structure.walk import SearchProgress, Trail
    from lacunary.study.class_report import ClassReport, class_report
    from lacunary.study.class_steps import ClassEffects, class_covariates, class_outcome
    from lacunary.study.class_tests import BootstrapLrt, bootstrap_lrt
    from lacunary.study.classes import classes
    from lacunary.study.delta import DeltaAdjusted, delta_adjusted
    from lacunary.study.impute import impute
    from lacunary.study.missingness import McarTest, Missingness, mcar_test, missingness
    from lacunary.study.pool import Pooled, pool
    from lacunary.study.predictive import CheckedStatistic, PredictiveCheck, predictive_check
    from lacunary.study.result import Classes
    from lacunary.study.trail import ClassesTrail

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOME = {
    "budget": ("memory",),
    "causal.adjustment": ("Adjustment", "adjustment"),
    "causal.effect": ("Effect", "average_effect"),
    "causal.identification": ("Identification", "identify"),
    "causal.members": ("ClassAnswers", "query_class"),
    "infer.information": ("mutual_information", "value_of_observation"),
    "infer.tuning": ("parameter_sensitivity",),
    "model.separators": ("independencies",),
    "data.datasets": ("house_votes", "soybean"),
    "data.absent": ("keep_rows",),
    "data.holes": ("hide", "make_holes"),
    "data.read": ("examine", "read"),
    "data.schema": ("Schema", "Variable"),
    "data.table": ("Table",),
    "dependency.network": ("DependencyNetwork", "learn_dependencies"),
    "dependency.posterior": ("TransformedMixture",),
    "errors": (
        "ApproximationWarning",
        "BudgetError",
        "FileError",
        "GraphError",
        "ImpossibleRowError",
        "LacunaryError",
        "NoEstimateError",
        "ParameterError",
        "SchemaError",
        "SourceError",
        "StateError",
        "TableError",
        "TooWideError",
    ),
    "files.checkpoint": ("Checkpoint",),
    "files.others": ("from_modelstring", "from_networkx", "from_pgmpy", "from_pyagrum"),
    "files.shipped": ("alarm", "asia"),
    "files.store": ("load", "save"),
    "files.uai": ("uai_evidence", "uai_marginals", "write_uai_evidence"),
    "files.whole": ("write_whole",),
    "infer.belief": (
        "BDeu",
        "Belief",
        "Dirichlet",
        "NormalWeights",
        "PriorNetwork",
        "bdeu",
        "k2",
        "prior_network",
    ),
    "infer.ensemble": ("Ensemble",),
    "family.distribution": ("Distribution", "NormalMixture", "StudentMixture"),
    "family.joint": ("JointMixture",),
    "infer.divergence": ("family_distances", "kl", "marginal_kl"),
    "infer.expect": ("expect",),
    "infer.mixture": ("Mixture", "Noise"),
    "infer.network": ("Network", "random_network"),
    "infer.parallel": ("threads",),
    "infer.partitioned": ("Partitioned",),
    "infer.scan": ("Scan", "scan"),
    "infer.prior": ("NormalWishart",),
    "infer.empirical": ("Empirical", "empirical_prior"),
    "learn.fit": ("Fit", "Start", "fit", "reselect"),
    "learn.loop": ("Progress",),
    "learn.online": ("Online",),
    "learn.around": ("Around",),
    "learn.groups": ("Groups",),
    "learn.start": ("Draws", "Tournament"),
    "learn.stop": ("Stop",),
    "maths.pareto": ("Pareto",),
    "maths.singular": ("sbic",),
    "mixture.fit": ("fit_mixture",),
    "mixture.found": ("MixtureFit", "MixtureProgress"),
    "mixture.trail": ("MixtureTrail",),
    "model.bipartite": ("bipartite",),
    "model.dag": ("Dag",),
    "model.distance": ("arc_changes", "structural_hamming_distance"),
    "model.equivalence": ("cpdag", "equivalent"),
    "model.graph": ("d_separated", "moral_graph", "skeleton"),
    "model.make": ("dag", "naive_bayes", "random_dag"),
    "family.poisson": ("Poisson",),
    "family.regression": ("Regression",),
    "family.sigmoid": ("Sigmoid",),
    "model.stats": ("Stats",),
    "family.uniform": ("Uniform",),
    "evidence.compare": ("Comparison", "compare"),
    "rank.dimension": ("Dimension", "dimension"),
    "evidence.estimate": ("Estimate",),
    "evidence.loo": ("Loo", "loo"),
    "evidence.sampled": ("Sampled", "posterior_mean"),
    "evidence.score": ("score",),
    "evidence.sensitivity": ("Sensitivity", "sensitivity"),
    "report.figures_style": ("FigureStyle",),
    "structure.anneal": ("Anneal",),
    "structure.arc_probabilities": ("ArcProbabilities", "arc_probabilities"),
    "structure.average": ("GraphAverage", "average_graphs"),
    "structure.best_first": ("BestFirst",),
    "structure.climb": ("Greedy", "Tabu"),
    "structure.hidden_trials": ("search_hidden",),
    "structure.reinsert": ("Reinsert",),
    "structure.result": ("SearchResult", "Step"),
    "structure.search": ("search",),
    "structure.structural_em": ("StructuralResult", "structural_em"),
    "structure.walk": ("SearchProgress", "Trail"),
    "study.classes": ("classes",),
    "study.pool": ("Pooled", "pool"),
    "study.predictive": ("CheckedStatistic", "PredictiveCheck", "predictive_check"),
    "study.missingness": ("McarTest", "Missingness", "mcar_test", "missingness"),
    "study.class_report": ("ClassReport", "class_report"),
    "study.class_tests": ("BootstrapLrt", "bootstrap_lrt"),
    "study.class_steps": ("ClassEffects", "class_covariates", "class_outcome"),
    "study.delta": ("DeltaAdjusted", "delta_adjusted"),
    "study.impute": ("impute",),
    "study.result": ("Classes",),
    "study.trail": ("ClassesTrail",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Adjustment",
    "Anneal",
    "ApproximationWarning",
    "ArcProbabilities",
    "Around",
    "BDeu",
    "Belief",
    "BestFirst",
    "BootstrapLrt",
    "BudgetError",
    "CheckedStatistic",
    "Checkpoint",
    "ClassAnswers",
    "ClassEffects",
    "ClassReport",
    "Classes",
    "ClassesTrail",
    "Comparison",
    "Dag",
    "DeltaAdjusted",
    "DependencyNetwork",
    "Dimension",
    "Dirichlet",
    "Distribution",
    "Draws",
    "Effect",
    "Empirical",
    "Ensemble",
    "Estimate",
    "FigureStyle",
    "FileError",
    "Fit",
    "GraphAverage",
    "GraphError",
    "Greedy",
    "Groups",
    "Identification",
    "ImpossibleRowError",
    "JointMixture",
    "LacunaryError",
    "Loo",
    "McarTest",
    "Missingness",
    "Mixture",
    "MixtureFit",
    "MixtureProgress",
    "MixtureTrail",
    "Network",
    "NoEstimateError",
    "Noise",
    "NormalMixture",
    "NormalWeights",
    "NormalWishart",
    "Online",
    "ParameterError",
    "Pareto",
    "Partitioned",
    "Poisson",
    "Pooled",
    "PredictiveCheck",
    "PriorNetwork",
    "Progress",
    "Regression",
    "Reinsert",
    "Sampled",
    "Scan",
    "Schema",
    "SchemaError",
    "SearchProgress",
    "SearchResult",
    "Sensitivity",
    "Sigmoid",
    "SourceError",
    "Start",
    "StateError",
    "Stats",
    "Step",
    "Stop",
    "StructuralResult",
    "StudentMixture",
    "Table",
    "TableError",
    "Tabu",
    "TooWideError",
    "Tournament",
    "Trail",
    "TransformedMixture",
    "Uniform",
    "Variable",
    "adjustment",
    "alarm",
    "arc_changes",
    "arc_probabilities",
    "asia",
    "average_effect",
    "average_graphs",
    "bdeu",
    "bipartite",
    "bootstrap_lrt",
    "class_covariates",
    "class_outcome",
    "class_report",
    "classes",
    "compare",
    "cpdag",
    "d_separated",
    "dag",
    "delta_adjusted",
    "dimension",
    "empirical_prior",
    "equivalent",
    "examine",
    "expect",
    "family_distances",
    "fit",
    "fit_mixture",
    "from_modelstring",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "hide",
    "house_votes",
    "identify",
    "impute",
    "independencies",
    "k2",
    "keep_rows",
    "kl",
    "learn_dependencies",
    "load",
    "loo",
    "make_holes",
    "marginal_kl",
    "mcar_test",
    "memory",
    "missingness",
    "moral_graph",
    "mutual_information",
    "naive_bayes",
    "parameter_sensitivity",
    "pool",
    "posterior_mean",
    "predictive_check",
    "prior_network",
    "query_class",
    "random_dag",
    "random_network",
    "read",
    "reselect",
    "save",
    "sbic",
    "scan",
    "score",
    "search",
    "search_hidden",
    "sensitivity",
    "skeleton",
    "soybean",
    "structural_em",
    "structural_hamming_distance",
    "threads",
    "uai_evidence",
    "uai_marginals",
    "value_of_observation",
    "write_uai_evidence",
    "write_whole",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'lacunary' has no attribute {name!r}")
    value = getattr(import_module(f"lacunary.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
