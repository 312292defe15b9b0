"""The families a variable can have, by name, and what each asks of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from lacunary.data.schema import Schema, Variable
from lacunary.data.wording import counted
from lacunary.errors import GraphError, ParameterError

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "Families",
    "Given",
    "check_tied",
    "check_uniform",
    "chosen_families",
    "has_bounds",
]

DEFAULT: Mapping[str, str] = {"discrete": "table", "continuous": "regression"}
"""The family of each kind of variable, unless another is chosen."""

FAMILIES = (*DEFAULT.values(), "sigmoid", "uniform")
"""All families, by name."""

Families = tuple[tuple[str, str], ...]
"""The variables whose family is not the default of their kind: name and family, in the schema's order."""

Given = str | Mapping[str, str] | Iterable[tuple[str, str]] | None
"""One family for every variable, or those of some by name."""


def chosen_families(schema: Schema, given: Given) -> Families:
    """Return the families that are not the default of their kind, with names and kinds verified."""
    wanted = dict.fromkeys(schema.names, given) if isinstance(given, str) else dict(given or ())
    for name, family in wanted.items():
        _check_kind(schema, name, family)
    out = ((variable.name, wanted.get(variable.name, DEFAULT[variable.kind])) for variable in schema)
    return tuple((name, family) for name, family in out if family not in DEFAULT.values())


def _check_kind(schema: Schema, name: str, family: str) -> None:
    variable = schema[name]
    if family not in FAMILIES:
        raise ParameterError(
            f"{name}: there is no family {family!r}; the known ones are {', '.join(FAMILIES)}"
        )
    default = DEFAULT[variable.kind]
    if family in DEFAULT.values() and family != default:
        raise GraphError(
            f"{name} is {variable.kind}: its family cannot be a {family}; by default it is a {default}"
        )
    if family == "sigmoid" and variable.size != 2:
        what = f"has {counted(variable.size, 'state')}" if variable.discrete else "is continuous"
        raise GraphError(f"{name} {what}: a sigmoid family is for binary variables; leave its family out")
    if family == "uniform" and variable.discrete:
        raise GraphError(f"{name} is discrete: a uniform family is for continuous variables")


def check_tied(chosen: Families, tied: Iterable[tuple[str, ...]]) -> None:
    """Refuse tied variables of different families."""
    families = dict(chosen)
    for group in tied:
        if len({families.get(name) for name in group}) > 1:
            raise GraphError(f"tied variables need one family: {', '.join(group)}")


def check_uniform(
    chosen: Families, schema: Schema, arcs: Iterable[tuple[str, str]], tied: Iterable[tuple[str, ...]]
) -> None:
    """Refuse uniform variables with continuous parents or children, or that are tied."""
    uniform = {name for name, family in chosen if family == "uniform"}
    for tail, head in arcs:
        for name, other in ((tail, head), (head, tail)):
            if name in uniform and not schema[other].discrete:
                raise GraphError(
                    f"{name} is uniform, and its arc with {other}, which is continuous, has no meaning: a "
                    "uniform variable has discrete parents only, and no children"
                )
    for group in tied:
        if uniform.intersection(group):
            raise GraphError(f"uniform families cannot be tied: {', '.join(group)}")


def has_bounds(variable: Variable) -> bool:
    """Tell whether a variable declares two finite bounds, which are then not learned."""
    return variable.bounds is not None and all(map(isfinite, variable.bounds))
