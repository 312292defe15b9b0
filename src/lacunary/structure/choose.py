"""Which score: by name, or by the kinds of the variables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer import prior as priors
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.leaves import leaf_names, leaf_terms
from lacunary.structure.score import FamilyScore

__all__ = ["SCORES", "kind_of", "rule_of", "score_of"]

SCORES = {
    "discrete": ("bdeu", "k2", "bd", "bic"),
    "continuous": ("bge", "bic"),
    "mixed": ("conditional-gaussian", "bic"),
}
"""The scores by name, for tables of each kind; the first is the default."""


def kind_of(table: Table) -> str:
    """Return whether a table's variables are discrete, continuous or mixed."""
    kinds = {variable.kind for variable in table.schema}
    return "mixed" if len(kinds) == 2 else next(iter(kinds), "discrete")


def score_of(table: Table, score: str | FamilyScore | None = None, prior: Any = None) -> FamilyScore:
    """Return the score that is asked for; without a name, the default for the variables' kinds.

    ``prior`` is a rule for the hyperparameters; given without a score, discrete variables are scored by
    "bd" with it. A score that is one already is returned as it is.
    """
    if score is not None and not isinstance(score, str):
        if prior is not None:
            raise ParameterError("a score that is given ready-made has its own prior; leave prior out")
        return score
    kind = kind_of(table)
    if score is None:
        score = "bd" if prior is not None and kind == "discrete" else SCORES[kind][0]
    if score not in SCORES[kind]:
        known = ", ".join(map(repr, SCORES[kind]))
        raise ParameterError(f"for {kind} variables score is one of {known}, not {score!r}")
    if score == "bic" and prior is not None:
        raise ParameterError("bic has no prior; leave prior out")
    if leaf_names(table.schema):
        return _with_leaves(table, score, prior)
    return _discrete(table, score, prior) if kind == "discrete" else _gaussian(table, kind, score, prior)


def _with_leaves(table: Table, score: str, prior: Any) -> FamilyScore:
    """Return the score of a table some of whose families are leaves."""
    leaves = leaf_names(table.schema)
    rest = table.select([name for name in table.schema.names if name not in leaves])
    if isinstance(prior, priors.NormalWishart) and kind_of(rest) == "discrete":
        prior = prior.tables
    chosen = "bic" if score == "bic" else None
    others = score_of(rest, chosen, prior) if len(rest.schema) else None
    return leaf_terms(table, others, "bic" if score == "bic" else "bd")


def rule_of(table: Table, prior: Any) -> Prior:
    """Return the rule with which networks are fitted that were found under a prior."""
    if isinstance(prior, NormalWishart):
        names = [variable.name for variable in table.schema if not variable.discrete]
        return priors.NormalWishart.of(prior, names, BDeu(1.0))
    return prior if callable(prior) else BDeu(1.0)


def _discrete(table: Table, score: str, prior: Any) -> FamilyScore:
    if score == "bic":
        return BIC(table)
    if score == "bdeu" and not isinstance(prior, BDeu | None):
        raise ParameterError("bdeu takes a prior such as bdeu(10); for any other prior use score='bd'")
    if score == "k2" and prior not in (None, Dirichlet(1.0)):
        raise ParameterError("k2 has its own prior; for any other use score='bd'")
    return BD(table, Dirichlet(1.0) if score == "k2" else prior)


def _gaussian(table: Table, kind: str, score: str, prior: Any) -> FamilyScore:
    # Loaded when needed: discrete searches have no use for it.
    home = "gaussian" if kind == "continuous" else "conditional_gaussian"
    module = import_module(f"lacunary.structure.{home}")
    name = {"bge": "BGe", "conditional-gaussian": "ConditionalGaussian"}.get(score)
    if name is None:
        name = "GaussianBIC" if kind == "continuous" else "ConditionalGaussianBIC"
        found: FamilyScore = getattr(module, name).of(table)
    else:
        found = getattr(module, name).of(table, prior)
    return found
