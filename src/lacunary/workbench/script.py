"""The Python script that does again what was clicked."""

from __future__ import annotations

from pprint import pformat
from typing import Any

from lacunary.workbench.workspace import Workspace

__all__ = ["script_of"]


def script_of(workspace: Workspace, model: str, given: dict[str, Any], targets: list[str]) -> str:
    """Return a script that reads the table, learns the model, and asks it what the page shows."""
    record = workspace.record("models", model)
    lines = ["import lacunary as lac", ""]
    if record.get("job") and workspace.has("jobs", record["job"]):
        job = workspace.record("jobs", record["job"])
        lines += [*_table(workspace, job), *_learned(job, record)]
        lines += [f"{_noun(record)} = {record['made']}"]
    else:
        lines += [f"{_noun(record)} = {_loaded(record)}"]
    lines += _asked(_noun(record), given, targets)
    return "\n".join(lines) + "\n"


def _noun(record: dict[str, Any]) -> str:
    return "mixture" if record.get("kind") == "mixture" or record.get("by") == "mixture" else "network"


def _loaded(record: dict[str, Any]) -> str:
    if record.get("shipped"):
        return f"lac.{record['shipped']}()"
    return f"lac.load({record.get('file', record['name'])!r})"


def _table(workspace: Workspace, job: dict[str, Any]) -> list[str]:
    table = workspace.record("tables", job["table"]) if workspace.has("tables", job["table"]) else {}
    settings = dict(job.get("settings") or {})
    rename = settings.pop("rename", None)
    if table.get("shipped") and settings == table.get("first"):
        out = [f"table = lac.{table['shipped']}()"]
    else:
        out = [_call("table = lac.read", [repr(table.get("file", "table.csv"))], settings)]
    if rename:
        out = ["from dataclasses import replace", "", *out, f"new = {pformat(rename)}"]
        out += [
            "variables = tuple(replace(v, name=new.get(v.name, v.name)) for v in table.schema)",
            "table = replace(table, schema=lac.Schema(variables))",
        ]
    return out


def _learned(job: dict[str, Any], record: dict[str, Any]) -> list[str]:
    asked = job["options"]
    if job["kind"] == "classes":
        numbers = f"range({asked['from']}, {asked['to'] + 1})"
        how = {
            "hidden": asked["hidden"],
            "aside": asked["aside"],
            "starts": asked["starts"],
            "rng": asked["seed"],
        }
        return [_call("found = lac.classes", ["table", numbers], how), "print(found)"]
    if job["kind"] == "search":
        names = ("method", "score", "max_parents", "hidden", "starts")
        how = {name: asked[name] for name in names}
        how |= {name: [tuple(arc) for arc in asked[name]] for name in ("required", "forbidden")}
        return [_call("found = lac.search", ["table"], {**how, "rng": asked["seed"]}), "print(found)"]
    if job["kind"] == "mixture":
        many = "'auto'" if asked["to"] is None else f"range({asked['from']}, {asked['to'] + 1})"
        how = {name: asked[name] for name in ("structure", "noise", "max_parents")}
        call = _call(
            "found = lac.fit_mixture", ["table", f"components={many}"], {**how, "rng": asked["seed"]}
        )
        return [call, "print(found)"]
    hidden = [
        f"lac.Variable({name!r}, {tuple(str(k + 1) for k in range(size))!r}, hidden=True)"
        for name, size in asked["hidden"].items()
    ]
    schema = f"table.schema.extend([{', '.join(hidden)}])" if hidden else "table.schema"
    arcs = pformat([tuple(arc) for arc in asked["arcs"]])
    how = {"method": asked["method"], "starts": asked["starts"], "rng": asked["seed"]}
    return [f"dag = lac.Dag.from_arcs({schema}, {arcs})", _call("found = lac.fit", ["dag", "table"], how)]


def _asked(noun: str, given: dict[str, Any], targets: list[str]) -> list[str]:
    if not targets:
        return ["", f"print({noun})"]
    known = f", given={pformat(given, sort_dicts=False)}" if given else ""
    return ["", *(f"print({noun}.query({name!r}{known}))" for name in targets)]


def _call(head: str, first: list[str], named: dict[str, Any]) -> str:
    """Return a call with those arguments that say anything."""
    told = [
        f"{name}={pformat(v, sort_dicts=False)}"
        for name, v in named.items()
        if v not in (None, [], {}, ()) and (v != "" or name == "quote")
    ]
    line = f"{head}({', '.join([*first, *told])})"
    if len(line) <= 100 and "\n" not in line:
        return line
    inner = "\n".join(f"    {part}," for part in (*first, *told))
    return f"{head}(\n{inner}\n)"
