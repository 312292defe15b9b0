"""Which score: by name, or by the kinds of the variables; the same with and without holes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer import prior as priors
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.discrete import check_digits
from lacunary.structure.gaussian import check_normal
from lacunary.structure.leaves import leaf_names, leaf_terms
from lacunary.structure.score import FamilyScore

__all__ = ["SCORES", "criterion_of", "fit_prior", "score_of"]

SCORES = {
    "discrete": ("bdeu", "k2", "bd", "bic"),
    "continuous": ("bge", "bic"),
    "mixed": ("conditional-gaussian", "bic"),
}
"""The scores by name, for tables of each kind; the first is the default."""

CLASSES = {
    ("discrete", "bd"): "discrete.BD",
    ("discrete", "bic"): "discrete.BIC",
    ("continuous", "bd"): "gaussian.BGe",
    ("continuous", "bic"): "gaussian.GaussianBIC",
    ("mixed", "bd"): "conditional_gaussian.ConditionalGaussian",
    ("mixed", "bic"): "conditional_gaussian.ConditionalGaussianBIC",
}
"""Where families of a table without holes are scored; loaded when needed."""


def criterion_of(schema: Schema, score: str | None, prior: Any) -> tuple[Literal["bd", "bic"], Any]:
    """Return how families are scored, by their evidence or by BIC, and the prior, which EM needs in any case.

    Without a name the score is the default for the variables' kinds; a prior that is given without one is
    that of "bd" where all are discrete.
    """
    kind = _kind(schema)
    if score is None:
        score = "bd" if prior is not None and kind == "discrete" else SCORES[kind][0]
    if score not in SCORES[kind]:
        known = ", ".join(map(repr, SCORES[kind]))
        raise ParameterError(f"for {kind} variables score is one of {known}, not {score!r}")
    if score == "bic" and prior is not None:
        raise ParameterError("bic has no prior; leave prior out")
    if score == "bdeu" and not isinstance(prior, BDeu | None):
        raise ParameterError("bdeu takes a prior such as bdeu(10); for any other prior use score='bd'")
    if score == "k2" and prior not in (None, Dirichlet(1.0)):
        raise ParameterError("k2 has its own prior; for any other use score='bd'")
    if kind == "continuous" or (kind == "mixed" and not callable(prior)):
        check_normal(prior)
    elif not (prior is None or callable(prior) or kind == "mixed"):
        raise ParameterError(
            f"the prior of discrete variables is one of tables such as bdeu(1), not a {type(prior).__name__}"
        )
    check_digits(prior)
    default = Dirichlet(1.0) if score == "k2" else BDeu(1.0) if kind == "discrete" else None
    return ("bic" if score == "bic" else "bd"), default if prior is None else prior


def score_of(table: Table, score: str | None = None, prior: Any = None) -> FamilyScore:
    """Return the score of families that is asked for, on a table without holes."""
    criterion, belief = criterion_of(table.schema, score, prior)
    if leaf_names(table.schema):
        return _with_leaves(table, criterion, prior)
    home, name = CLASSES[_kind(table.schema), criterion].split(".")
    maker = getattr(import_module(f"lacunary.structure.{home}"), name)
    make = getattr(maker, "of", maker)
    found: FamilyScore = make(table) if criterion == "bic" else make(table, belief)
    return found


def _with_leaves(table: Table, criterion: Literal["bd", "bic"], prior: Any) -> FamilyScore:
    """Return the score of a table some of whose families are leaves."""
    leaves = leaf_names(table.schema)
    rest = table.select([name for name in table.schema.names if name not in leaves])
    if isinstance(prior, priors.NormalWishart) and _kind(rest.schema) == "discrete":
        prior = prior.tables
    others = score_of(rest, "bic" if criterion == "bic" else None, prior) if len(rest.schema) else None
    return leaf_terms(table, others, criterion)


def fit_prior(schema: Schema, prior: Any) -> Prior:
    """Return the prior with which networks are fitted that were found under a prior."""
    if isinstance(prior, NormalWishart):
        names = [variable.name for variable in schema if not variable.discrete]
        return priors.NormalWishart.of(prior, names, BDeu(1.0))
    return prior if callable(prior) else BDeu(1.0)


def _kind(schema: Schema) -> str:
    """Return whether variables are discrete, continuous or mixed."""
    kinds = {variable.kind for variable in schema}
    return "mixed" if len(kinds) == 2 else next(iter(kinds), "discrete")
