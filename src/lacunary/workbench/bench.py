"""One workspace with its tables, jobs and models: all that the interface can be asked to do."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.workbench import insight
from lacunary.workbench.asking import Asked, Models, opened
from lacunary.workbench.jobs import Hub, JobLimits, Jobs
from lacunary.workbench.script import script_of
from lacunary.workbench.tables import SUFFIXES, Tables
from lacunary.workbench.telling import columns_of
from lacunary.workbench.workspace import Unknown, Workspace

__all__ = ["Bench"]

FORMATS = (".json", ".bif", ".xmlbif", ".bifxml", ".xml", ".net", ".xdsl", ".uai", ".dsc", ".dne")
TITLES = {
    "classes": "Hidden classes",
    "search": "Search for the graph",
    "mixture": "Mixture of networks",
    "fit": "A graph drawn by hand",
    "compare": "Weighing models",
    "impute": "Filling holes",
}
MOST_VARIABLES = 5000
MOST_TELLING = 400
"""The most variables of a model whose observations are weighed one by one."""


class Bench:
    """What stands behind the interface."""

    def __init__(self, folder: Path, limits: JobLimits | None = None) -> None:
        self.workspace = Workspace(folder)
        self.hub = Hub()
        self.tables = Tables(self.workspace)
        self.jobs = Jobs(self.workspace, self.tables, self.hub, limits or JobLimits())
        self.models = Models(lambda key: self.workspace.place("models", key) / "model.json")

    def close(self) -> None:
        """End all work; everything stays on disk."""
        self.hub.tell({"type": "end"})
        self.jobs.close()
        self.workspace.close()

    def shown(self) -> dict[str, Any]:
        """Return everything there is, in short."""
        names = ("id", "name", "file", "created", "shipped")
        tables = [{k: r.get(k) for k in names} for r in self.workspace.every("tables")]
        return {
            "version": lac.__version__,
            "folder": self.workspace.folder.name,
            "tables": tables,
            "models": [self.model_record(r["id"]) for r in self.workspace.every("models")],
            "jobs": self.jobs.every(),
            "suffixes": list(SUFFIXES),
        }

    def model_record(self, key: str) -> dict[str, Any]:
        """Return what is known of a model without loading it."""
        record = self.workspace.record("models", key)
        names = ("id", "name", "created", "table", "job", "by", "best", "classes", "hidden", "columns")
        out = {
            name: record.get(name)
            for name in (*names, "table_name", "estimates", "curve", "criterion", "weighed", "held_out")
        }
        return {**out, "log_likelihood": record.get("log_likelihood")}

    def model_shown(self, key: str) -> dict[str, Any]:
        """Return a model: its variables and arcs, and what is known of it."""
        return {**self.model_record(key), **self.models.asked(key).shown()}

    def open(self, path: Path) -> str:
        """Take a file named at the prompt into the workspace, a table or a model; return which it was."""
        if not os.path.isfile(path):
            raise lac.FileError(f"{path} does not exist, or is no file")
        copy = self.workspace.folder / f"upload-{secrets.token_hex(8)}"
        shutil.copyfile(path, copy)
        try:
            if path.name.lower().endswith(SUFFIXES):
                return f"table/{self.tables.add(path.name, copy)}"
            return f"graph/{self.add_model(path.name, copy, None)}"
        finally:
            copy.unlink(missing_ok=True)

    def shipped_table(self, name: str) -> str:
        """Open a table that comes with the package; one that is open already stays as it is."""
        if name not in ("house_votes", "soybean"):
            raise Unknown(f"no table {name!r} comes with the package")
        known = next((r["id"] for r in self.workspace.every("tables") if r.get("shipped") == name), None)
        if known is not None:
            return str(known)
        table: Any = getattr(lac, name)()
        copy = self.workspace.folder / f"upload-{secrets.token_hex(8)}"
        copy.write_text(table.to_frame("polars").write_csv(), encoding="utf-8")
        settings = {"kinds": dict.fromkeys(table.columns, "discrete")}
        key = self.tables.add(f"{name}.csv", copy, settings=settings, shipped=name)
        self.hub.tell({"type": "table", "id": key})
        return key

    def shipped_model(self, name: str) -> str:
        """Open a network that comes with the package; one that is open already stays as it is."""
        if name not in ("asia", "alarm"):
            raise Unknown(f"no network {name!r} comes with the package")
        known = next((r["id"] for r in self.workspace.every("models") if r.get("shipped") == name), None)
        return (
            str(known)
            if known is not None
            else self._kept(getattr(lac, name)(), name, None, {"shipped": name})
        )

    def add_model(self, name: str, path: Path, table: str | None) -> str:
        """Take a model file into the workspace."""
        lower = name.lower()
        suffix = next((s for f in FORMATS for s in (f, f"{f}.gz") if lower.endswith(s)), None)
        if suffix is None:
            raise lac.FileError(f"models are read from {', '.join(FORMATS)}, also as .gz")
        if table is not None:
            self.workspace.record("tables", table)
        named = path.with_name(f"{path.name}{suffix}")
        path.rename(named)
        try:
            thing = lac.load(named)
        except lac.FileError as problem:
            raise lac.FileError(str(problem).replace(str(named), Path(name).name)) from None
        finally:
            named.unlink(missing_ok=True)
        title, model = Path(name).name[: -len(suffix)] or "model", opened(thing)
        if table is not None:
            self.tables.table(table).align(Asked(model).schema)  # a model that does not fit is refused
        return self._kept(model, title[:200], table, {"file": Path(name).name[:200]})

    def _kept(self, model: Any, name: str, table: str | None, about: dict[str, Any]) -> str:
        if len(Asked(model).schema) > MOST_VARIABLES:
            raise lac.TooWideError(f"a model may have {MOST_VARIABLES} variables here")
        key, place = self.workspace.new("models")
        lac.save(model, place / "model.json")
        kind = "mixture" if isinstance(model, lac.Mixture) else "network"
        from_table = {} if table is None else {"table_name": self.workspace.record("tables", table)["name"]}
        made = {"name": name, "table": table, "by": "file", "kind": kind, "columns": columns_of(model)}
        self.workspace.keep("models", key, {**made, **from_table, **about})
        self.hub.tell({"type": "model", "id": key})
        return key

    def drop_table(self, key: str) -> None:
        """Forget a table, the jobs on it and the models that were learned from it."""
        self.workspace.record("tables", key)
        for record in self.workspace.every("jobs"):
            if record["table"] == key:
                self.jobs.drop(record["id"])
        gone = [record["id"] for record in self.workspace.models_of(key)]
        for model in gone:
            self.workspace.drop("models", model)
        self.models.forget(gone)
        self.workspace.drop("tables", key)
        self.hub.tell({"type": "gone", "kind": "tables", "id": key})

    def add_job(self, asked: dict[str, Any]) -> str:
        """Put work in the queue, once it is sure that it can be asked for."""
        kind, table = asked.pop("kind"), asked.pop("table")
        columns = self.tables.table(table).schema
        title = TITLES[kind]
        if kind in ("classes", "mixture") and asked["to"] is not None and asked["to"] < asked["from"]:
            raise lac.ParameterError("the last number must not be below the first")
        if kind == "classes" and asked["aside"] is not None:
            columns.index(asked["aside"])
        for arc in (*asked.get("required", ()), *asked.get("forbidden", ()), *asked.get("arcs", ())):
            for name in arc:
                if name not in asked.get("hidden", {}):
                    columns.index(name)
        if kind == "compare":
            records = [self.workspace.record("models", key) for key in asked["models"]]
            other = next((r["name"] for r in records if r.get("table") != table), None)
            if other is not None:
                raise lac.ParameterError(f"{other} was not learned from this table")
            asked["models"] = [
                {"id": r["id"], "name": r["name"], "columns": columns_of(self.models.asked(r["id"]).model)}
                for r in records
            ]
        if kind == "impute" and asked["model"] is not None:
            self.workspace.record("models", asked["model"])
        return self.jobs.add(kind, table, asked, title)

    def insight(self, what: str, key: str, given: dict[str, Any], target: str) -> Any:
        """Return what findings do to a target."""
        model = self.models.asked(key)
        if target not in [variable.name for variable in model.variables]:
            model.schema.index(target)
        if len(model.variables) > MOST_TELLING:
            raise lac.TooWideError(f"this is worked out for at most {MOST_TELLING} variables")
        return getattr(insight, what)(model, model.findings(given), target)

    def strengths(self, key: str) -> Any:
        """Return what each arc tells: what the search said of it, or else what the model itself does."""
        known = self.workspace.record("models", key).get("strengths")
        if known:
            return known
        place = self.workspace.place("models", key) / "strengths.json"
        if not place.exists():
            model = self.models.asked(key)
            parts = [insight.strengths(model, c) for c in range(len(model.parts))]
            most: dict[tuple[str, str], float] = {}
            for arc in (arc for part in parts for arc in part):
                at = (arc["tail"], arc["head"])
                most[at] = max(most.get(at, 0.0), arc["nats"])
            told = [{"tail": tail, "head": head, "nats": nats} for (tail, head), nats in most.items()]
            lac.write_whole(place, json.dumps(told))
        return json.loads(place.read_text(encoding="utf-8"))

    def row(self, key: str, table: str, number: int, target: str | None) -> dict[str, Any]:
        """Return what a model says of one row: its holes, and to which class it belongs and why."""
        model, rows = self.models.asked(key), self._seen_by(key, table)
        if number > len(rows):
            raise lac.TableError(f"the table has {len(rows)} rows, and no row {number}")
        one = rows.take(slice(number - 1, number))
        cells = {name: one[name][0] for name in model.schema.names}
        given = {name: _own(value) for name, value in cells.items() if value is not None and value == value}
        answer = model.ask(given)
        out = {
            "row": number,
            "cells": {name: given.get(name) for name in model.schema.names},
            "variables": [v.name for v in model.variables],
            **answer,
        }
        hidden = next((v.name for v in model.variables if v.hidden and v.discrete), None)
        chosen = target or (model.component if model.mixed else hidden)
        if chosen is not None:
            if chosen != model.component and not model.schema[chosen].discrete:
                raise lac.SchemaError(f"{chosen} is continuous: ask about a class or a component")
            out["why"] = insight.why(model, {n: f for n, f in given.items() if n != chosen}, chosen)
        return out

    def _seen_by(self, key: str, table: str, without: Collection[str] = ()) -> lac.Table:
        """Return a table as a model sees it, some columns of which it may be kept from seeing."""
        schema = self.models.asked(key).schema
        return self.tables.table(table).align(schema.hide(without))

    def versus(self, table: str, a: str, b: str, count: int) -> dict[str, Any]:
        """Return the rows that speak most for each of two models: differences of log-probabilities.

        They are of the cells that both models see.
        """
        sees = {key: set(columns_of(self.models.asked(key).model)) for key in (a, b)}
        alone = [sorted(sees[a] - sees[b]), sorted(sees[b] - sees[a])]
        logs = [
            self.models.asked(key).model.log_probability(self._seen_by(key, table, without))
            for key, without in zip((a, b), alone, strict=True)
        ]
        with np.errstate(invalid="ignore"):
            apart = np.nan_to_num(logs[0] - logs[1], nan=0.0, posinf=1e300, neginf=-1e300)
        order = np.argsort(-apart, kind="stable")
        known = self.tables.table(table)
        weights = known.weights

        def told(where: Any) -> list[dict[str, Any]]:
            return [
                {"row": int(i) + 1, "nats": float(apart[i]), "a": logs[0][i], "b": logs[1][i]} for i in where
            ]

        return {
            "total": float(weights @ apart),
            "for_a": told([i for i in order[:count] if apart[i] > 0]),
            "for_b": told([i for i in order[::-1][:count] if apart[i] < 0]),
            "left_out": alone[0] + alone[1],
            "spread": np.quantile(apart, np.linspace(0, 1, 101)).tolist() if len(apart) else [],
        }

    def script(self, key: str, given: dict[str, Any], targets: list[str]) -> str:
        """Return the script that makes a model again and asks it."""
        model = self.models.asked(key)
        for name in targets:
            model.schema.index(name)
        known = model.findings(given)
        component = known.pop(model.component, None) if model.mixed else None
        label = str(component)
        place = int(label) - 1 if label.isdecimal() else None
        return script_of(self.workspace, key, known, targets, place)

    def exported(self, key: str, format: str) -> tuple[Path, str]:
        """Return a file with a model in some format, in a folder of its own, and what to call it."""
        model, record = self.models.asked(key).model, self.workspace.record("models", key)
        folder = self.workspace.folder / f"upload-{secrets.token_hex(8)}"
        folder.mkdir()
        path = folder / f"model.{format}"
        try:
            if format == "html":
                if not isinstance(model, lac.Network):
                    raise lac.ParameterError("a page is made of a network; a mixture can be kept as json")
                model.page(path, title=record["name"])
            else:
                lac.save(model, path)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return path, f"{record['name']}.{format}"


def _own(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
