"""``lacunary assign``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import app, examples
from lacunary.cli.arguments import (
    TABLES,
    Data,
    Decimal,
    Holes,
    Json,
    NotHoles,
    Out,
    check_out,
    data_path,
    reading,
)
from lacunary.cli.delimited import delimited, put
from lacunary.cli.show import Waiting, emit, show
from lacunary.data.wording import counted

__all__ = ["assign", "mixture_of"]


@app.command(
    epilog=examples(
        "lacunary mixture house_votes --drop party --components 2 --structure tree --out groups.json",
        "lacunary assign groups.json house_votes --out assigned.csv",
    )
)
def assign(
    model: Annotated[str, typer.Argument(metavar="MIXTURE", help="What lacunary mixture wrote; .json.")],
    data: Data,
    out: Out = None,
    holes: Holes = None,
    not_holes: NotHoles = None,
    decimal: Decimal = ".",
    json: Json = False,
) -> None:
    """Say to which component of a mixture each row of a table belongs, as far as its observed cells tell.

    One line a row: component (the most probable one), the probabilities p(1), p(2), …, p(noise), and
    log_density, in nats; to --out (.csv, .tsv) or the screen.

    --json prints: rows, columns, and table (by column) or out.
    """
    check_out(out, TABLES)
    thing = mixture_of(model)
    with Waiting(f"reading {data}") as waiting:
        rows = lac.read(
            data_path(data), schema=thing.schema, **reading(holes, None, None, not_holes, decimal)
        )
        waiting.say("asking about every row")
        columns = _assigned(thing, rows)
        if out is not None:
            put(delimited(columns, out), out)
    if json:
        emit({"rows": len(rows), "columns": list(columns), **({"out": out} if out else {"table": columns})})
    elif out:
        show(f"written: {out} ({counted(len(rows), 'row')})")
    else:
        put(delimited(columns, None), None)


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
    return columns | {"log_density": thing.log_probability(rows).tolist()}
