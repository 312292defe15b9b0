"""``lacunary assign``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Cells, Data, Json, Out
from lacunary.cli.delimited import hand_over
from lacunary.cli.show import Waiting

__all__ = ["assign", "mixture_of"]


@command(
    "lacunary mixture house_votes --drop party --components 2 --structure tree --out groups.json",
    "lacunary assign groups.json house_votes --out assigned.csv",
)
def assign(
    model: Annotated[str, typer.Argument(metavar="MIXTURE", help="What lacunary mixture wrote; .json.")],
    data: Data,
    cells: Cells,
    out: Out = None,
    json: Json = False,
) -> None:
    """Say to which component of a mixture each row of a table belongs, as far as its observed cells tell.

    One line a row: component (the most probable one), the probabilities p(1), p(2), …, p(noise), and
    log_density, in nats, with log_density_error where exact inference does not fit; to --out (.csv, .tsv) or
    the screen.

    --json prints: rows, columns, and table (by column) or out.
    """
    thing = mixture_of(model)
    with Waiting(f"reading {data}") as waiting:
        rows = cells.table(data, thing.schema)
        waiting.say("asking about every row")
        columns = _assigned(thing, rows)
    told = {"rows": len(rows), "columns": list(columns), **({"out": out} if out else {"table": columns})}
    hand_over(columns, out, told if json else None)


def mixture_of(path: str) -> lac.Mixture:
    """Return the mixture that a file holds."""
    thing = lac.load(path)
    if isinstance(thing, lac.MixtureFit):
        return thing.mixture
    if isinstance(thing, lac.Mixture):
        return thing
    raise lac.FileError(
        f"{path}: a {type(thing).__name__.lower()} is no mixture; lacunary mixture --out FILE makes one"
    )


def _assigned(thing: lac.Mixture, rows: lac.Table) -> dict[str, list[Any]]:
    from lacunary.report.mixture import names_of

    names, shares = names_of(thing), thing.responsibilities(rows)
    best = [names[c] for c in shares.argmax(axis=1)]
    columns: dict[str, list[Any]] = {"component": best}
    columns |= {f"p({name})": shares[:, c].tolist() for c, name in enumerate(names)}
    log: Any = thing.log_probability(rows)
    error = getattr(log, "error", None)
    columns |= {"log_density": log.tolist()}
    return columns | ({} if error is None else {"log_density_error": error.tolist()})
