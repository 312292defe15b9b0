"""What is written on the command line, turned into tables, graphs, models and states."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import complain, note
from lacunary.cli.standard import is_standard, standard
from lacunary.data.wording import counted
from lacunary.files.whole import check_new_folder

__all__ = [
    "NUMBERS",
    "Cells",
    "Data",
    "Do",
    "Figure",
    "Given",
    "Hidden",
    "Json",
    "Model",
    "OldFigure",
    "Out",
    "Reading",
    "Rng",
    "answering",
    "check_out",
    "data_path",
    "figure_of",
    "given_states",
    "graph_of",
    "is_arrows",
    "is_model",
    "numbers_of",
    "opened",
    "option",
    "pairs",
    "pairs_of_states",
    "parted",
    "state_of",
    "structure_prior_of",
    "tiers_of",
    "written",
]

STRUCTURE_PRIOR = "How probable graphs are beforehand: beta-binomial, links, uniform, or nats a link."
DEFAULT = "beta-binomial"
TIER = "Names that come before those of later tiers; may be repeated."
MODELS = (
    ".bif", ".xmlbif", ".bifxml", ".xml", ".net", ".xdsl", ".uai", ".dsc", ".dne", ".dnet", ".json"
)  # fmt: skip
TABLES = (".csv", ".tsv", ".tab", ".txt")
FIGURES = (".svg", ".png")
SHIPPED_NETWORKS = ("asia", "alarm")
SHIPPED_TABLES = ("house_votes", "soybean")
ARROWS = ("->", "<-", "→", "←", ";")

MOST_STATES = 10_000
"""The largest number of states, classes or components that may be asked for."""

SIGNS = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " ", "comma": ",", "semicolon": ";"}
"""Delimiters that may be called by name."""

READING = "Reading the table"
"""The heading in help for options that say how a table is read."""


def option(help: str, metavar: str | None = None, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option: what help says of it, what stands for its value there, and under which heading."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def written(help: str, suffixes: Sequence[str], *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option that names a file to be written; a place that cannot be is refused at once.

    ``-`` is standard output.
    """
    return option(help, "FILE", *names, panel=panel, callback=lambda path: check_out(path, suffixes), **more)


Figure = Annotated[str | None, written("A figure: .svg or .png; - for standard output.", FIGURES)]
OldFigure = Annotated[str | None, written("The old name of --figure.", FIGURES, "--out", "-o", hidden=True)]


def figure_of(figure: str | None, old: str | None) -> str | None:
    """Return where a figure goes, by the option's name or by its old one, which is told to go."""
    if old is not None:
        complain("note: --out is deprecated here, and will go; a figure is written by --figure, as elsewhere")
    return figure or old


def check_out(path: str | None, suffixes: Sequence[str]) -> str | None:
    """Return a place that can be written to, or refuse it before any work is done."""
    if path is None:
        return None
    if is_standard(path):
        return standard(path, suffixes)
    if _suffix(path) not in suffixes:
        raise lac.FileError(f"{path}: the suffix must be one of {', '.join(suffixes)}, with or without .gz")
    folder = Path(path).absolute().parent
    if not os.path.isdir(folder):
        raise lac.FileError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise lac.FileError(
            f"cannot write {path}: {'it is a folder' if os.path.isdir(path) else 'not allowed'}"
        )
    return path


def placed(help: str, suffixes: Sequence[str], *names: str) -> Any:
    """Return an option that names a file to be written, or a folder to be made, such as rows/."""
    return option(help, "PLACE", *names, callback=lambda path: _check_place(path, suffixes))


def _check_place(path: str | None, suffixes: Sequence[str]) -> str | None:
    if path is None or not path.endswith("/"):
        return check_out(path, suffixes)
    check_new_folder(path)
    return path


Texts = list[str] | None
DATA = (
    "A table: CSV, TSV (also compressed), Parquet, Excel, SPSS, Stata, SAS, JSON, SQLite; - for standard "
    "input; a folder or a pattern of text, Parquet or Arrow files; or house_votes, soybean."
)
MODEL = "A model file (.json, .bif, .xmlbif, .net, .xdsl, .uai, .dsc, .dne, also .gz); or asia, alarm."
KNOWN = "What is known: a state, one of several (NAME=a|b), or a number; may be repeated."
HIDDEN = "A variable that is never observed, with K states or NAME=a,b,c; may be repeated."
KINDS = "A column's kind, discrete or continuous; may be repeated."
STATES = "The states of a column, in order; may be repeated."
HOLES = "A cell that is a hole, beside '', NA, NaN, ?; may be repeated."
NOT_HOLES = "One of '', NA, NaN, ? that is a value here; may be repeated."
DECIMAL = "What numbers have before their decimals; by default each column tells."
THOUSANDS = "What parts thousands: , . ' a blank, or none; by default each column tells."
DATES = "Dates as days (since the first), parts (year, month, weekday) or text; may be repeated by column."
DAY_FIRST = "Whether 3/4/2024 is in April; by default each column tells."
SHEET = "The sheet of a spreadsheet; by default the first."
QUERY = "What to ask a database; by default its only table."
ENCODING = "Of a text file that is not UTF-8, such as latin-1."
COMMENT = "What lines begin with that are left out, such as #."
HEADER = "How many lines of a text file name the columns; several are joined."
NAMES = "Names of the columns, with commas between, in place of the file's."
DELIMITER = "What parts the cells of a text file; by default what parts its lines alike."
QUOTE = "What stands around cells that hold the delimiter; none if quotes are letters like others."
ESCAPE = "What stands before a quote inside a cell, such as a backslash."
SKIP = "Lines at the beginning of a text file that are no part of the table."
SKIP_END = "Rows at the end of a text file that are no part of the table."
RAGGED = "Let rows with too few cells end in holes."
DROP = "A column to leave out; may be repeated."
NUMBERS = "How many classes to try: a range, or a list with commas."
WEIGHTS = "The column that says how often each row counts."

SCHEDULER = "Address of a Dask scheduler, whose workers read and work on DATA: tcp://host:8786."
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL)]
DO = "What is set from outside, a state or a number; may be repeated."
Do = Annotated[Texts, option(DO, "NAME=STATE", "--do")]
Given = Annotated[Texts, option(KNOWN, "NAME=STATE", "--given", "-g")]
Hidden = Annotated[Texts, option(HIDDEN, "NAME[=K]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
Out = Annotated[str | None, written("Where to write; - for standard output.", TABLES, "--out", "-o")]
Rng = Annotated[int | None, typer.Option("--rng", min=0, help="Seed; without it every run draws anew.")]


@dataclass(frozen=True)
class Declared:
    """The options that say what columns are."""

    kinds: Annotated[Texts, option(KINDS, "NAME=KIND", panel=READING)] = None
    states: Annotated[Texts, option(STATES, "NAME=a,b,c", panel=READING)] = None


@dataclass(frozen=True)
class Cells:
    """The options that say what cells mean."""

    holes: Annotated[Texts, option(HOLES, "TEXT", panel=READING)] = None
    not_holes: Annotated[Texts, option(NOT_HOLES, "TEXT", panel=READING)] = None
    decimal: Annotated[str | None, option(DECIMAL, ".|,", panel=READING)] = None
    thousands: Annotated[str | None, option(THOUSANDS, "SIGN", panel=READING)] = None
    dates: Annotated[Texts, option(DATES, "[NAME=]HOW", panel=READING)] = None
    day_first: Annotated[bool | None, option(DAY_FIRST, None, "--day-first/--month-first", panel=READING)] = (
        None
    )
    sheet: Annotated[str | None, option(SHEET, "NAME", panel=READING)] = None
    query: Annotated[str | None, option(QUERY, "SQL", panel=READING)] = None
    encoding: Annotated[str | None, option(ENCODING, "NAME", panel=READING)] = None
    comment: Annotated[str | None, option(COMMENT, "SIGN", panel=READING)] = None
    header: Annotated[int, option(HEADER, "LINES", min=0, panel=READING)] = 1
    no_header: Annotated[bool, option("The same as --header 0.", None, "--no-header", panel=READING)] = False
    names: Annotated[str | None, option(NAMES, "a,b,c", panel=READING)] = None
    delimiter: Annotated[str | None, option(DELIMITER, "SIGN", panel=READING)] = None
    quote: Annotated[str, option(QUOTE, "SIGN", panel=READING)] = '"'
    escape: Annotated[str | None, option(ESCAPE, "SIGN", panel=READING)] = None
    skip: Annotated[int, option(SKIP, "LINES", min=0, panel=READING)] = 0
    skip_end: Annotated[int, option(SKIP_END, "ROWS", min=0, panel=READING)] = 0
    ragged: Annotated[bool, option(RAGGED, None, "--ragged", panel=READING)] = False

    @property
    def settings(self) -> dict[str, Any]:
        """The options as `lacunary.read` takes them, whether there is a schema or not."""
        if self.decimal not in (".", ",", None):
            raise typer.BadParameter(f"{self.decimal!r} is neither . nor ,", param_hint="--decimal")
        return {
            "holes": self.holes or (), "not_holes": self.not_holes or (), "decimal": self.decimal,
            "thousands": "" if self.thousands == "none" else self.thousands, "dates": self._dates(),
            "day_first": self.day_first,
            "sheet": self.sheet, "query": self.query, "encoding": self.encoding, "comment": self.comment,
            "header": False if self.no_header or not self.header else self.header == 1 or self.header,
            "names": None if self.names is None else parted(self.names),
            "delimiter": SIGNS.get(self.delimiter or "", self.delimiter),
            "quote": "" if self.quote == "none" else self.quote, "escape": self.escape,
            "skip": self.skip, "skip_end": self.skip_end, "ragged": self.ragged,
        }  # fmt: skip

    def _dates(self) -> str | dict[str, str]:
        """Return what becomes of dates: in all columns, or by name."""
        given = self.dates or ["days"]
        return given[0] if len(given) == 1 and "=" not in given[0] else pairs("--dates", given)

    def table(self, data: str, schema: lac.Schema | None = None) -> lac.Table:
        """Return a table, which may be one that ships with the package."""
        return lac.read(data_path(data), schema=schema, **self.settings)


@dataclass(frozen=True)
class Reading(Cells, Declared):
    """The options that say how a table is read."""

    drop: Annotated[Texts, option(DROP, "COLUMN", panel=READING)] = None
    weights: Annotated[str | None, option(WEIGHTS, "COLUMN", panel=READING)] = None
    scheduler: Annotated[str | None, option(SCHEDULER, "ADDRESS", panel=READING)] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options as `lacunary.read` takes them, whether there is a schema or not."""
        return {**super().settings, "drop": self.drop or (), "weights": self.weights}

    @property
    def declared(self) -> dict[str, Any]:
        """What the caller says of columns, as `lacunary.read` takes it where there is no schema."""
        found = pairs_of_states("--states", self.states)
        alone = next((name for name, given in found.items() if given is None), None)
        if alone is not None:
            raise typer.BadParameter(f"{alone!r} is not NAME=a,b,c", param_hint="--states")
        labels = {name: list(range(s)) if isinstance(s, int) else list(s or ()) for name, s in found.items()}
        return {"kinds": pairs("--kinds", self.kinds), "states": labels}

    def table(self, data: str, schema: lac.Schema | None = None) -> lac.Table:
        """Return a table; a schema says all about its columns, so that nothing else is listened to."""
        declared = self.declared if schema is None else {}
        if self.scheduler or is_many(data):
            rows: lac.Table = self._scanned(data, schema, declared)
            return rows
        table = lac.read(data_path(data), schema=schema, **self.settings, **declared)
        if schema is None:
            note(table.doubts)
        return table

    def _scanned(self, data: str, schema: lac.Schema | None, declared: dict[str, Any]) -> Any:
        """Return the rows of many files, or of files that a cluster works on."""
        client = None
        if self.scheduler:
            from lacunary.infer.cluster import connected

            client = connected(self.scheduler)
        settings = self.settings
        for name in ("sheet", "query"):
            if settings.pop(name) is not None:
                raise typer.BadParameter(
                    "many files are text, Parquet or Arrow, which have none", param_hint=f"--{name}"
                )
        return lac.scan(data_path(data), schema=schema, client=client, **settings, **declared)


def is_many(data: str) -> bool:
    """Tell whether data are a folder, an address, or a pattern that no file is called by."""
    return (
        "://" in data
        or os.path.isdir(data)
        or (any(sign in data for sign in "*?[") and not os.path.exists(data))
    )


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Return NAME=VALUE texts as a mapping."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, *value = parted(text, "=", 1)
        if not value or not name:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is named twice", param_hint=option)
        found[name] = value[0]
    return found


def parted(text: str, sign: str = ",", most: int = -1) -> list[str]:
    """Return what stands between signs, parted ``most`` times; what holds one goes in double quotes."""
    part = re.compile(rf'\s*(?:"((?:[^"]|"")++)"\s*|([^{sign}]*+))({sign}|\Z)')
    found, place = list[str](), 0
    while len(found) != most:
        match = part.match(text, place)
        assert match is not None, "a part may be empty, so one always matches"
        found.append(match[1].replace('""', '"') if match[1] else match[2].strip())
        place = match.end()
        if not match[3]:
            return found
    return [*found, text[place:].strip()]


def pairs_of_states(option: str, texts: Sequence[str] | None) -> dict[str, int | list[str] | None]:
    """Return NAME=K, NAME=a,b,c and NAME alone as a mapping to a number, labels or None."""
    told = {text: parted(text, "=", 1) for text in texts or ()}
    alone = {parts[0]: None for parts in told.values() if len(parts) == 1}
    given = pairs(option, [text for text, parts in told.items() if len(parts) > 1])
    return {**alone, **{name: _states(option, name, value) for name, value in given.items()}}


def tiers_of(texts: Sequence[str] | None) -> list[list[str]] | None:
    """Return groups of names, from causes to effects, as texts such as A,B have them."""
    return [parted(text) for text in texts or ()] or None


def structure_prior_of(text: str | None) -> Any:
    """Return a prior over structures: its name, or the number a text stands for; by default the library's."""
    try:
        return DEFAULT if text is None else float(text)
    except ValueError:
        return text


def _states(option: str, name: str, value: str) -> int | list[str]:
    labels = parted(value)
    if len(labels) > 1:
        return labels
    if not value.isdecimal() or not int(value):
        raise typer.BadParameter(
            f"{name}={value}: give the number of states, or their labels with commas between",
            param_hint=option,
        )
    return int(value)


def is_arrows(text: str) -> bool:
    """Tell whether a model is written as arrows."""
    return not os.path.isfile(text) and any(arrow in text for arrow in ARROWS)


def is_model(text: str) -> bool:
    """Tell whether a text names a model, and not a table."""
    return is_arrows(text) or text in SHIPPED_NETWORKS or _suffix(text) in MODELS


def opened(text: str, *, renormalize: bool = False) -> Any:
    """Return what a model's text stands for: what a file holds, a shipped network, a drawn graph."""
    if is_arrows(text):
        return lac.dag(text)
    if text in SHIPPED_NETWORKS and not os.path.isfile(text):
        return getattr(lac, text)()
    if text in SHIPPED_TABLES or _suffix(text) in (*TABLES, ".parquet", ".pq", ".feather", ".arrow", ".ipc"):
        raise lac.FileError(
            f"{text} is a table, but here a model is meant; see the order of arguments in --help"
        )
    if not Path(text).suffix and not os.path.exists(text):
        raise lac.FileError(
            f"{text!r} was taken for the name of a file, but there is none; a graph is written with arrows, "
            f"as 'A -> B', and one of a single variable with a semicolon: '{text};'"
        )
    return lac.load(text, renormalize=renormalize)


def answering(text: str) -> tuple[lac.Network | lac.Belief | lac.Mixture, lac.Schema]:
    """Return the model or the mixture that a text stands for, with probabilities, and its variables."""
    thing = opened(text)
    if isinstance(thing, lac.Network | lac.Belief):  # first, as mixtures and fits are slow to load
        return thing, thing.dag.schema
    if isinstance(thing, lac.MixtureFit):
        thing = thing.mixture
    if isinstance(thing, lac.Mixture):
        return thing, thing.schema
    model = thing.network if isinstance(thing, lac.Fit) else thing
    if isinstance(model, lac.Network | lac.Belief):
        return model, model.dag.schema
    raise lac.FileError(
        f"{text}: a {type(thing).__name__.lower()} has no probabilities to ask; learn them with lacunary fit"
    )


def graph_of(text: str, hidden: Mapping[str, int | list[str] | None]) -> lac.Dag:
    """Return the graph of a model file, some of its variables hidden."""
    thing = opened(text)
    dag = thing if isinstance(thing, lac.Dag) else getattr(thing, "dag", None)
    if dag is None:
        raise lac.FileError(f"{text}: a {type(thing).__name__.lower()} is no model to fit")
    for name, states in hidden.items():
        size = dag.schema[name].size
        if states is not None and (states if isinstance(states, int) else len(states)) != size:
            raise lac.SchemaError(
                f"{text} gives {name} {counted(size, 'state')}; leave them out of --hidden {name}"
            )
    return lac.Dag(dag.schema.hide(hidden), dag.parents, dag.tied, dag.family)


def given_states(schema: lac.Schema, texts: Sequence[str] | None, named: str = "--given") -> dict[str, Any]:
    """Return NAME=STATE texts as states of the model's variables, which need not be texts.

    What is given may be one of several states: NAME=STATE|STATE.
    """
    states = _one_of if named == "--given" else state_of
    return {name: states(schema[name], text) for name, text in pairs(named, texts).items()}


def _one_of(variable: lac.Variable, text: str) -> Any:
    """Return the state that a text stands for, or the several states, with bars between."""
    if not variable.discrete or "|" not in text or text in map(str, variable.states):
        return state_of(variable, text)
    return [state_of(variable, part.strip()) for part in text.split("|")]


def state_of(variable: lac.Variable, text: str) -> Any:
    """Return the state of a variable that a text stands for, or its value."""
    if not variable.discrete:
        try:
            return float(text)
        except ValueError:
            raise lac.StateError(
                f"{variable.name} is continuous: what is given must be a number, not {text!r}"
            ) from None
    spelled = {str(state): state for state in variable.states}
    if text not in spelled:
        variable.encode(text)  # says which states there are
    return spelled[text]


def data_path(text: str) -> str:
    """Return the path of a table, which may be one that ships with the package."""
    from lacunary.data.datasets import dataset_path
    from lacunary.data.hush import at_the_prompt

    at_the_prompt()
    return str(dataset_path(text)) if text in SHIPPED_TABLES and not os.path.isfile(text) else text


def _suffix(path: str) -> str:
    """Return a file's suffix, without a .gz behind it."""
    last = Path(path).suffix.lower()
    return Path(path).with_suffix("").suffix.lower() if last == ".gz" else last


def numbers_of(option: str, text: str, also: str = "") -> list[int]:
    """Return the numbers that 3, 1..6, 1-6 or 1,2,4 stand for; ``also`` is what else may be written."""
    numbers: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d+)\s*(?:(?:\.\.|-)\s*(\d+)\s*)?", part)
        if not span:
            other = f"{also}, " if also else ""
            raise typer.BadParameter(f"{text!r} is not {other}3, 1..6 or 1,2,4", param_hint=option)
        first, last = int(span[1]), int(span[2] or span[1])
        if first > last:
            raise typer.BadParameter(f"{part.strip()} is reversed; write {last}..{first}", param_hint=option)
        if first < 1 or last > MOST_STATES:
            raise typer.BadParameter(f"numbers lie between 1 and {MOST_STATES}", param_hint=option)
        numbers += range(first, last + 1)
    return list(dict.fromkeys(numbers))
