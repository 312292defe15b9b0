"""Which families there are, which a variable has, and what graphs they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError, ParameterError
from lacunary.family.numeric import NumericFamily
from lacunary.family.poisson import PoissonFamily
from lacunary.family.protocol import Family
from lacunary.family.regression import RegressionFamily
from lacunary.family.sigmoid import SigmoidFamily
from lacunary.family.table import TableFamily
from lacunary.family.uniform import UniformFamily

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "Families",
    "Given",
    "bound",
    "check_families",
    "chosen_families",
    "family_class",
    "numeric_class",
    "with_families",
]

FAMILIES: Mapping[str, type[Family]] = {
    family.name: family
    for family in (TableFamily, RegressionFamily, SigmoidFamily, UniformFamily, PoissonFamily)
}
"""All families, by name."""

DEFAULT: Mapping[str, str] = {"discrete": TableFamily.name, "continuous": RegressionFamily.name}
"""The family of each kind of variable, unless another is chosen."""

Families = tuple[tuple[str, str], ...]
"""The variables whose family is not the default of their kind: name and family, in the schema's order."""

Given = str | Mapping[str, str] | Iterable[tuple[str, str]] | None
"""One family for every variable, or those of some by name."""


def chosen_families(schema: Schema, given: Given) -> Families:
    """Return the families that are not the default of their kind, with names and kinds verified."""
    wanted = dict.fromkeys(schema.names, given) if isinstance(given, str) else dict(given or ())
    wanted = {v.name: v.family for v in schema if v.family} | wanted
    for name, family in wanted.items():
        _check_kind(schema[name], family)
    out = ((variable.name, wanted.get(variable.name, DEFAULT[variable.kind])) for variable in schema)
    return tuple((name, family) for name, family in out if family not in DEFAULT.values())


def family_class(variable: Variable) -> type[Family]:
    """Return the family that a variable has in any graph."""
    return FAMILIES[variable.family or DEFAULT[variable.kind]]


def numeric_class(variable: Variable) -> type[NumericFamily]:
    """Return the family that a continuous variable has in any graph."""
    found = family_class(variable)
    assert issubclass(found, NumericFamily)
    return found


def with_families(schema: Schema, given: Given) -> Schema:
    """Return the schema with these families for its variables, in whatever graph."""
    chosen = dict(chosen_families(schema, given))
    return Schema(tuple(replace(variable, family=chosen.get(variable.name)) for variable in schema))


def bound(family: str, variable: Variable, parents: Sequence[Variable]) -> Family:
    """Return a family of a variable with these parents."""
    discrete = tuple(parent for parent in parents if parent.discrete)
    continuous = tuple(parent for parent in parents if not parent.discrete)
    return FAMILIES[family](variable, discrete, continuous)


def check_families(
    chosen: Families, schema: Schema, arcs: Iterable[tuple[str, str]], tied: Iterable[tuple[str, ...]]
) -> None:
    """Refuse arcs and ties that the chosen families do not allow."""
    families = {name: FAMILIES[family] for name, family in chosen}
    groups = list(tied)
    for group in groups:
        if len({families.get(name) for name in group}) > 1:
            raise GraphError(f"tied variables need one family: {', '.join(group)}")
    for tail, head in arcs:
        for name, other in ((tail, head), (head, tail)):
            if name in families:
                families[name].check_arc(name, schema[other])
    for group in groups:
        if group[0] in families:
            families[group[0]].check_tied(group)


def _check_kind(variable: Variable, family: str) -> None:
    if family not in FAMILIES:
        raise ParameterError(
            f"{variable.name}: there is no family {family!r}; the known ones are {', '.join(FAMILIES)}"
        )
    default = DEFAULT[variable.kind]
    if family in DEFAULT.values() and family != default:
        raise GraphError(
            f"{variable.name} is {variable.kind}: its family cannot be a {family}; by default it is a "
            f"{default}"
        )
    FAMILIES[family].check_variable(variable)
