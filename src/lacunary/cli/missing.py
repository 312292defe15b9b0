"""``lacunary missing`` and ``lacunary pool``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Data, Json, Reading, Texts, option, pairs, parted
from lacunary.cli.show import Waiting, emit, show

__all__ = ["missing", "pool"]

LEVEL = "How much the intervals cover."
MEANS = "A column whose mean is wanted; may be repeated."
SHARES = "A state whose share is wanted; may be repeated."
REGRESS = "A linear regression; may be repeated."
COPY = "The column that numbers the filled tables."


@command("lacunary missing house_votes", "lacunary missing soybean --json")
def missing(data: Data, reading: Reading, json: Json = False) -> None:
    """Tell what predicts missing cells: other columns, and other missing cells.

    If all columns are continuous, Little's test of missing completely at random is shown as well.

    --json prints: shares, predictors, and mcar (statistic, dof, p, patterns; null where columns are
    discrete).
    """
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data)
        waiting.say("comparing columns")
        found = lac.missingness(table)
        numbers = not any(v.discrete for v in table.schema) and found.shares
        little = lac.mcar_test(table) if numbers else None
    if json:
        told = [asdict(one) for one in found]
        emit({"shares": found.shares, "predictors": told, "mcar": asdict(little) if little else None})
        return
    show(str(found))
    show(str(little) if little else "Little's test is for continuous columns alone.")


@command("lacunary pool five.csv --share crime=y --share party=democrat")
def pool(
    data: Data,
    reading: Reading,
    mean: Annotated[Texts, option(MEANS, "COLUMN")] = None,
    share: Annotated[Texts, option(SHARES, "COLUMN=STATE")] = None,
    regress: Annotated[Texts, option(REGRESS, "Y=A,B,...")] = None,
    copy: Annotated[str, option(COPY, "COLUMN")] = "copy",
    level: Annotated[float, option(LEVEL, min=0.0, max=1.0)] = 0.95,
    json: Json = False,
) -> None:
    """Pool estimates from filled tables by Rubin's rules: means, shares of states, linear regressions.

    DATA is what `lacunary impute --how draw --copies 5` writes: filled tables with a column that numbers
    them. Regressions take numbers, and discrete columns as a 0/1 column for each state but the first.

    --json prints: copies, level, estimates (name, estimate, error, dof, low, high, p, missing_information,
    increase).
    """
    if not (mean or share or regress):
        raise typer.BadParameter("say what to estimate: --mean, --share or --regress")
    with Waiting(f"reading {data}"):
        table = reading.table(data)
        from lacunary.study.simple import simple_estimates

        models = {y: parted(text) for y, text in pairs("--regress", regress).items()}
        shares = [pair for text in share or () for pair in pairs("--share", [text]).items()]
        found = simple_estimates(table, copy, mean or (), shares, models, level)
    if json:
        emit({"copies": found.copies, "level": found.level, "estimates": [asdict(one) for one in found]})
    else:
        show(str(found))
