"""Files of statistical packages, read in a process of its own.

The library that reads them is written in C, and a damaged file can end the process that it runs in. So
it runs in another one, that hands the columns over as JSON; where that one dies, the file is refused.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from lacunary.budget import ENGINE, room
from lacunary.data.dated import dated
from lacunary.data.hush import hushed
from lacunary.errors import FileError, LacunaryError

__all__ = ["read_apart", "reading"]

MOMENTS = {kind.__name__: kind for kind in (datetime.datetime, datetime.date, datetime.time)}


@contextmanager
def reading(path: Path | str, what: str) -> Iterator[None]:
    """Make a named error of whatever a library raises; a panic of one in Rust is not even an `Exception`."""
    try:
        with hushed():
            yield
    except (LacunaryError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as problem:
        told = next(iter(str(problem).strip().splitlines()), type(problem).__name__)
        raise FileError(
            f"{path} cannot be read as {what}; it is damaged, or no such file: {told[:200]}"
        ) from None


def read_apart(path: Path, reader: str, options: dict[str, Any]) -> tuple[Any, list[str], list[str]]:
    """Return a file as a frame of pandas, the columns whose states are value labels, and what else to say.

    ``reader`` is the function of ``pyreadstat`` that is called with the path and the options.
    """
    command = [sys.executable, "-P", "-m", __name__, str(path), reader, json.dumps(options), str(int(room()))]
    here = os.pathsep.join(place for place in sys.path if place)
    with reading(path, reader.removeprefix("read_")):
        ran = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": here},
            check=False,
        )
        if ran.returncode < 0:
            raise ValueError("the library that reads it broke down")
        if ran.returncode:
            raise ValueError(ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1])
        told = json.loads(ran.stdout)
        pandas: Any = import_module("pandas")
        columns = {k: _column(pandas, column) for k, column in enumerate(told["columns"])}
        frame = pandas.DataFrame(columns)
        frame.columns = told["names"]
    return frame, [name for name in told["labelled"] if name in told["names"]], told["said"]


def _column(pandas: Any, told: dict[str, Any]) -> Any:
    if "codes" in told:
        return pandas.Categorical.from_codes(told["codes"], list(map(_value, told["categories"])))
    values = list(map(_value, told["values"]))
    return pandas.Series(values, dtype=told["dtype"])


def _value(told: Any) -> Any:
    """Return a value: what JSON does not have is a word and a text."""
    return MOMENTS[told[0]].fromisoformat(told[1]) if isinstance(told, list) else told


def _told(value: Any) -> Any:
    for name, kind in MOMENTS.items():
        if isinstance(value, kind):
            return [name, value.isoformat()]
    return None if value is None or value != value else value


def _tell(frame: Any, about: Any, package: str) -> dict[str, Any]:
    """Return a frame as what JSON has; numbers that the package means as dates are such."""
    columns = []
    forms = getattr(about, "original_variable_types", None) or {}
    labels = dict(getattr(about, "variable_value_labels", None) or {})
    said: list[str] = []
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        form = forms.get(frame.columns[k]) or ""
        if column.dtype.kind in "fi" and (
            moments := dated([None if n != n else float(n) for n in column], form, package)
        ):
            known = any(type(moment) is datetime.datetime for moment in moments)
            kind = "datetime64[us]" if known else "object"
            columns.append({"values": list(map(_told, moments)), "dtype": kind})
            continue
        if str(column.dtype) == "category" and (meant := labels.get(frame.columns[k])):
            column, words = _labelled(column, meant, str(frame.columns[k]))
            said += words
            if str(column.dtype) != "category":
                del labels[frame.columns[k]]
        if str(column.dtype) == "category":
            kinds = list(map(_told, column.cat.categories.tolist()))
            columns.append({"codes": column.cat.codes.tolist(), "categories": kinds})
        elif str(column.dtype).startswith("datetime"):
            columns.append({"values": list(map(_told, map(_moment, column))), "dtype": str(column.dtype)})
        else:
            columns.append({"values": list(map(_told, column.tolist())), "dtype": str(column.dtype)})
    return {
        "names": list(map(str, frame.columns)),
        "columns": columns,
        "labelled": list(labels),
        "said": said,
    }


def _labelled(column: Any, known: dict[Any, str], name: str) -> tuple[Any, list[str]]:
    """Return a column with value labels, or numbers if most of them have none; and what to say of it."""
    held = column.cat.categories.tolist()
    bare = [value for value in held if not isinstance(value, str)]
    codes = {label: code for code, label in known.items() if label in held}
    if len(bare) > len(codes) and all(isinstance(code, int | float) for code in codes.values()):
        marks = ", ".join(f"{code:g} ({label})" for label, code in codes.items())
        what = (
            f"{name}: most values have no label, so that they are numbers, {marks} too; holes=… names codes"
        )
        return column.astype(object).map(lambda v: codes.get(v, v)).astype("float64"), [what] if codes else []
    twice = len({label for label in known.values() if label in held}) < sum(v in held for v in known.values())
    return column, [f"{name}: values with the same label are one state"] if twice else []


def _moment(value: Any) -> Any:
    return value.to_pydatetime() if value == value else None


def _bound(limit: int) -> None:
    """Let the process take no more than there is."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = limit + 4 * ENGINE
        resource.setrlimit(
            resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


def _main(path: str, reader: str, options: str, limit: str) -> int:
    try:
        library = import_module("pyreadstat")
        _bound(int(limit))
        frame, about = getattr(library, reader)(path, **json.loads(options))
        print(json.dumps(_tell(frame, about, reader.removeprefix("read_"))))
    except Exception as problem:  # of no class of its own
        print(" ".join((str(problem) or type(problem).__name__).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
