"""``lacunary workbench``, ``lacunary serve`` and ``lacunary page``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command, complain
from lacunary.cli.arguments import Model, answering, option, written
from lacunary.cli.show import show
from lacunary.cli.standard import called

__all__ = ["page", "serve", "workbench"]

FILES = "Tables and model files to open; or house_votes, soybean, asia, alarm."
BROWSER = "Whether to open the page in the browser."
PORT = "The port to listen on; by default a free one."
FOLDER = "Where tables, models and jobs are kept; by default a folder in your home directory."
JOBS = "How many jobs run at a time."
MEMORY = "The most memory that a job may take, in GiB."
HOST = "The address to listen on; another than 127.0.0.1 lets other machines ask, and needs --anyone."
ANYONE = "Let other machines ask; they need the token, which crosses the network in plain text."
TITLE = "What the page is headed; by default the file's name."


@command("lacunary workbench house_votes", "lacunary workbench --no-browser --workspace studies")
def workbench(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help=FILES)] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help=BROWSER)] = True,
    host: Annotated[str, option(HOST, "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help=PORT)] = 0,
    anyone: Annotated[bool, typer.Option("--anyone", help=ANYONE)] = False,
    workspace: Annotated[str | None, option(FOLDER, "DIR")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help=JOBS)] = 2,
    memory: Annotated[float, typer.Option(min=0.5, help=MEMORY)] = 16.0,
) -> None:
    """Open the workbench, a page in the browser: see what is missing, learn, compare models, click evidence.

    The page's address is printed on a line of its own; it works without any network. All that is done is kept
    in the workspace, and is there again after the next start.
    """
    _needs_server()
    _check_meant(host, anyone)
    from lacunary.workbench.jobs import JobLimits
    from lacunary.workbench.run import workbench as run
    from lacunary.workbench.workspace import default_folder

    folder = default_folder() if workspace is None else Path(workspace)
    limits = JobLimits(at_once=jobs, memory=int(memory * 2**30))
    run(files or [], folder, host, port, browser, lambda line: show(line), limits)


@command("lacunary serve asia --port 8000")
def serve(
    model: Model,
    host: Annotated[str, option(HOST, "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help=PORT)] = 0,
    anyone: Annotated[bool, typer.Option("--anyone", help=ANYONE)] = False,
) -> None:
    """Answer questions about a model over HTTP: query, posterior, impute, explain, and many at once.

    Prints the address and the token that every request needs; /api/openapi.json describes the requests.
    """
    _needs_server()
    _check_meant(host, anyone)
    from lacunary.workbench.run import serve_model

    serve_model(model, host, port, lambda line: show(line))


@command("lacunary page asia --out asia.html")
def page(
    model: Model,
    out: Annotated[str, written("Where to write: .html.", (".html",), "--out", "-o")],
    title: Annotated[str | None, option(TITLE, "TEXT")] = None,
) -> None:
    """Write a network as one page that can be mailed: click a state, and all probabilities move."""
    thing, _ = answering(model)
    if not isinstance(thing, lac.Network):
        raise lac.ParameterError(
            f"{model}: a page is made of a network, and this is a {type(thing).__name__.lower()}"
        )
    thing.page(out, title=title or Path(model).name.partition(".")[0])
    show(f"written: {called(out)}")


def _check_meant(host: str, anyone: bool) -> None:
    """Refuse an address that other machines can reach, unless that is meant; then warn."""
    from lacunary.workbench.run import LOOPBACK

    if host in LOOPBACK:
        return
    if host in ("0.0.0.0", "::", "*"):
        raise typer.BadParameter(
            f"{host} is every address of this machine; name the one by which others reach it",
            param_hint="--host",
        )
    if not anyone:
        raise typer.BadParameter(
            f"{host} can be reached by other machines; --anyone says that this is meant", param_hint="--host"
        )
    complain(f"note: other machines can ask at {host}; whoever has the token is answered")


def _needs_server() -> None:
    try:
        import fastapi
        import uvicorn  # noqa: F401
    except ImportError:
        raise lac.ParameterError(
            "this needs fastapi and uvicorn: pip install 'lacunary[workbench]'"
        ) from None
    assert fastapi
