"""``lacunary reproduce``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

import lacunary as lac
from lacunary.cli.app import command, complain
from lacunary.cli.arguments import Json
from lacunary.cli.show import emit, show

__all__ = ["reproduce"]

EVERY = 30.0
"""Seconds between two lines that tell how far it is, where there is no terminal to draw a bar on."""


@command("lacunary reproduce ghm96", "lacunary reproduce all --out papers --jobs 2")
def reproduce(
    key: Annotated[str, typer.Argument(metavar="KEY|all", help="A paper, such as ghm96, or all of them.")],
    size: Annotated[
        Literal["tiny", "glance", "full"],
        typer.Option(help="How much of it: seconds, minutes, or everything (hours)."),
    ] = "glance",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")
    ] = "lacunary-papers",
    jobs: Annotated[int, typer.Option(min=1, help="Processes to work on.")] = 1,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="Do no work; show what is there from earlier, unfinished runs.")
    ] = False,
    json: Json = False,
) -> None:
    """Redo the tables, figures and claims of the papers this library stands on, beside the printed numbers.

    Writes FOLDER/KEY/index.html with every claim and its verdict (reproduced, near, not, wrong in print, not
    decided), and the tables and figures as files. Work that is finished is kept in FOLDER/work: after an
    interruption the same command goes on where it was. Runs of full size also write all records into
    FOLDER/KEY/records.jsonl.gz, and go on from there. Claims that a run does not ask keep the answers of
    an earlier one in the same FOLDER, and say so.

    --json prints, for each paper: paper, page, units, done, seconds, verdicts (by claim).
    """
    from lacunary.papers import keys
    from lacunary.papers.claims import VERDICTS, said

    records = [_one(name, size, Path(out), jobs, so_far) for name in (keys() if key == "all" else [key])]
    if json:
        emit(records)
        return
    for record in records:
        counts = Counter(record["verdicts"].values())
        told = ", ".join(f"{counts[v]} {said(v)}" for v in VERDICTS if counts[v])
        show(f"{record['paper']}: {told}; {record['seconds']:.0f} s of work\n  {record['page']}")


def _one(key: str, size: Any, out: Path, jobs: int, so_far: bool) -> dict[str, Any]:
    """Reproduce one paper and return what there is to tell."""
    from lacunary.papers import carry_out, paper
    from lacunary.papers.outcome import claims_of
    from lacunary.papers.publish import Edition, publish
    from lacunary.papers.records import RECORDS, pack, unpack
    from lacunary.papers.work import collect

    chosen = paper(key)
    head, claims = claims_of(key)
    units, folder = chosen.units(size), out / "work" / key
    edition = f"{lac.__version__}, {chosen.edition}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise lac.FileError(f"cannot write to {out}: {problem.strerror or problem}") from None
    if size == "full":
        unpack(out / key / RECORDS, folder)
    if so_far:
        results = collect(units, folder, edition=edition)
    else:
        with _Bar(key) as bar:
            results = carry_out(units, folder, edition=edition, jobs=jobs, watch=bar.watch)
    seconds = sum(record.seconds for record in results)
    about = Edition(key, head, size, len(results), len(units), seconds)
    judged = publish(out / key, about, claims, chosen.outcome(results))
    if size == "full":
        pack(units, folder, out / key / RECORDS, edition=edition)
    return {
        "paper": key,
        "page": str(out / key / "index.html"),
        "units": len(units),
        "done": len(results),
        "seconds": seconds,
        "verdicts": {j.claim.id: j.verdict for j in judged},
    }


class _Bar:
    """Tells how far the work is: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, key: str) -> None:
        console = Console(stderr=True)
        self.key = key
        self.terminal = console.is_terminal
        self.said = monotonic()
        self.display = Progress(
            TextColumn("{task.fields[key]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not self.terminal,
        )
        self.task = self.display.add_task("", total=None, key=key)

    def __enter__(self) -> _Bar:
        self.display.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if self.terminal:  # older releases of Rich end a line that was never begun
            self.display.stop()
        if kind is KeyboardInterrupt:
            complain("interrupted; finished work is kept, and the same command goes on from here")
            raise typer.Exit(130)

    def watch(self, done: int, units: int, what: str) -> None:
        """Take note of a finished unit."""
        self.display.update(self.task, total=units, completed=done, description=what[:60])
        if not self.terminal and (monotonic() - self.said > EVERY):
            self.said = monotonic()
            typer.echo(f"{self.key}: {done} of {units} units done", err=True)
