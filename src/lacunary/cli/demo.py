"""``lacunary demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Json
from lacunary.cli.show import Waiting, emit, show

__all__ = ["demo"]

MOST = 6
"""The most blocs that are tried."""

TITLE = "Voting blocs in the U.S. House of 1984"
SOURCE = (
    "Data: Congressional Voting Records (1984), UCI Machine Learning Repository, CC BY 4.0. A missing vote "
    "was neither yea nor nay: absent, abstained, or voted present."
)


@command("lacunary demo", "lacunary demo --out blocs --json")
def demo(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")
    ] = "lacunary-demo",
    starts: Annotated[int, typer.Option(min=1, help="Random starts for each number of blocs.")] = 20,
    rng: Annotated[int, typer.Option(help="Seed of the starts.")] = 0,
    json: Json = False,
) -> None:
    """Find the voting blocs in the U.S. House of 1984 from 16 votes, many of them missing.

    Fits hidden classes with 1 to 6 states, weighs them by five estimates of the evidence, and looks at what
    the best one found; the members' party is kept aside. Writes a page with figures (index.html) and the
    network (blocs.json).

    --json prints: rows, variables, holes, complete_rows, incomplete_rows, observed_cells_in_incomplete_rows,
    candidates (with log_evidence by estimate), favourites, best, criterion, classes, cases, page, network.
    """
    folder = _folder(out)
    with Waiting("compiling kernels, once…") as waiting:
        from lacunary.report.classes_text import text
        from lacunary.report.words import Words

        words = {"title": TITLE, "row": "member", "cell": "vote", "source": SOURCE}
        found = lac.classes(
            lac.house_votes(),
            range(1, MOST + 1),
            hidden="bloc",
            aside="party",
            starts=starts,
            rng=rng,
            watch=lambda classes, progress: waiting.watch(progress, f"{classes} of {MOST} blocs"),
            tell=lambda done, total, what: waiting.say(f"weighing {what} ({done + 1} of {total})"),
        )
        waiting.say("drawing the page")
        found.page(folder / "index.html", **words)
        found.save(folder / "blocs.json")
    if json:
        emit({**found.to_dict(), "page": str(folder / "index.html"), "network": str(folder / "blocs.json")})
        return
    show(text(found, Words(**words)))
    show(f"The page with figures:  {folder / 'index.html'}")
    show(
        f"Ask the model yourself: lacunary query {folder / 'blocs.json'} bloc --given physician_fee_freeze=y"
    )


def _folder(out: str) -> Path:
    """Return the folder, made if need be, before any work is done."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise lac.FileError(f"cannot write to {out}: {problem.strerror or problem}") from None
    return folder
