"""``lacunary classes``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command, complain
from lacunary.cli.arguments import MODELS, NUMBERS, Data, Json, Reading, numbers_of, option, written
from lacunary.cli.checkpoints import CHECKPOINT, Checkpoints, keep_result, resumed
from lacunary.cli.problem import Seed
from lacunary.cli.show import Waiting, emit, say_written, show

__all__ = ["classes"]

ASIDE = "A column that is not used to find classes, but shown beside them."
RESUME = "Go on from a checkpoint, with the same table and options; --components may be others."
OUT = "The best network: .json, .bif, .xmlbif, .net."


@command(
    "lacunary classes house_votes --aside party --components 1..3 --report classes.html --out classes.json",
    "lacunary classes soybean --aside class --hidden kind --components 2,3 --starts 2 --json",
)
def classes(
    data: Data,
    reading: Reading,
    hidden: Annotated[str, option("What to call the class.", "NAME")] = "class",
    components: Annotated[str, option(NUMBERS, "1..8")] = "1..6",
    aside: Annotated[str | None, option(ASIDE, "COLUMN")] = None,
    starts: Annotated[int, typer.Option(min=1, help="Random starts for each number of classes.")] = 20,
    rng: Seed = 0,
    out: Annotated[str | None, written(OUT, MODELS, "--out", "-o")] = None,
    report: Annotated[str | None, written("A page with figures and profiles: .html.", (".html",))] = None,
    checkpoint: Annotated[str | None, written(CHECKPOINT, (".json",))] = None,
    resume: Annotated[str | None, option(RESUME, "FILE")] = None,
    json: Json = False,
    numbers: Annotated[str | None, option("The old name of --components.", "1..8", hidden=True)] = None,
) -> None:
    """Find hidden classes of rows: how many there are, what each is like, who is in them. Every row counts.

    Columns may be discrete or continuous, and are independent given the class. Numbers of classes are weighed
    by five estimates of the evidence; profiles of continuous columns are in the table's units.

    --json prints: rows, variables, holes, complete_rows, incomplete_rows, observed_cells_in_incomplete_rows,
    candidates (with log_evidence by estimate), favourites, best, criterion, classes, measured (mean and sd of
    continuous columns by class), cases, out, report.
    """
    if numbers is not None:
        complain("note: --numbers is deprecated, and will go; it is called --components, as elsewhere")
    tried, keep = numbers_of("--components", numbers or components), Checkpoints(checkpoint)
    with Waiting(f"reading {data}") as waiting:
        from lacunary.report.classes_text import text
        from lacunary.report.words import Words

        table = reading.table(data)
        last: list[lac.Progress] = []
        waiting.say("compiling kernels, once…")

        def watch(k: int, told: lac.Progress) -> None:
            last[:] = [told]
            waiting.watch(told, f"{k} of {max(tried)} classes")

        study = partial(
            lac.classes,
            table,
            hidden=hidden,
            aside=aside,
            starts=starts,
            rng=rng,
            watch=keep.watching(watch),
            tell=lambda done, total, what: waiting.say(f"weighing {what} ({done + 1} of {total})"),
        )
        begun = None if resume is None else resumed(resume, lac.ClassesTrail, "study of classes")
        ended, fitted = "", tried
        try:
            found = study(tried, resume=begun)
        except KeyboardInterrupt:
            had = last[0].trail().fits if last else {}
            fitted = [k for k in tried if k in had]
            ended = f"interrupted: {len(fitted)} of {len(tried)} numbers of classes were fitted"
            if not fitted:
                keep.stop(ended)
            waiting.say("weighing what there is")
            found = study(fitted, resume=replace(last[0].trail(), climbs=None))
        words = {"title": f"Hidden classes in {Path(data).name}", "source": f"Data: {Path(data).name}."}
        keep_result(found.network, out)
        if report:
            waiting.say("drawing the page")
            found.page(report, **words)
    if json:
        emit({**found.to_dict(), "out": out, "report": report})
    else:
        show(text(found, Words(**words)))
        if found.number == max(fitted) > 1:
            show(f"--components {max(fitted)}..{2 * max(fitted)} tries more.")
        hint = "--report FILE.html shows this with figures, --out FILE keeps the network"
        say_written((out, report), hint)
    if ended:
        keep.stop(ended + ", and are reported")
