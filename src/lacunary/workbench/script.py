"""The Python script that does again what was clicked."""

from __future__ import annotations

from pprint import pformat
from typing import Any

from lacunary.workbench.workspace import Workspace

__all__ = ["script_of"]


def script_of(
    workspace: Workspace, model: str, given: dict[str, Any], targets: list[str], component: Any = None
) -> str:
    """Return a script that reads the table, learns the model, weighs it, fills holes, and asks it.

    ``component`` is the component of a mixture that is given, if one is.
    """
    record = workspace.record("models", model)
    noun, own = _noun(record), workspace.has("jobs", record.get("job") or "")
    later = [job for job in workspace.every("jobs") if job["status"] == "done" and _uses(job, model)]
    lines = ["import lacunary as lac", ""]
    if own:
        job = workspace.record("jobs", record["job"])
        lines += [*_table(workspace, job), *_learned(job), f"{noun} = {record['made']}"]
    else:
        lines += _table(workspace, later[0]) if later else []
        lines += [f"{noun} = {_loaded(record)}"]
    for job in later:
        lines += ["", *_weighed(noun, job, model), *_filled(noun, job)]
    return "\n".join([*lines, "", *_asked(noun, given, targets, component)]) + "\n"


def _uses(job: dict[str, Any], model: str) -> bool:
    """Tell whether a job weighed a model, or filled holes by it."""
    asked = job["options"]
    weighed = job["kind"] == "compare" and any(one["id"] == model for one in asked["models"])
    return weighed or (job["kind"] == "impute" and asked["model"] == model)


def _weighed(noun: str, job: dict[str, Any], model: str) -> list[str]:
    """Return lines that weigh a model again, by the estimates that were to be had."""
    if job["kind"] != "compare":
        return []
    had = [e["method"] for e in job["result"]["estimates"][model] if e["value"] is not None]
    what = noun if noun == "mixture" else "network.dag"
    asked = job["options"]
    return [f"print(lac.score({what}, table, {m!r}, rng={asked['seed']}))" for m in had]


def _filled(noun: str, job: dict[str, Any]) -> list[str]:
    if job["kind"] != "impute":
        return []
    asked, copies = job["options"], job["options"]["copies"]
    how = {"how": asked["how"], "copies": copies, "copy_column": "copy" if copies > 1 else None}
    call = _call("filled = lac.impute", [noun, "table"], {**how, "rng": asked["seed"]})
    return [call, f"filled.to_frame('polars').write_csv({job['table_name'] + ' filled.csv'!r})"]


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


def _learned(job: dict[str, Any]) -> list[str]:
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
        wanted = {name: [tuple(arc) for arc in asked[name]] for name in ("required", "forbidden")}
        sure = {**wanted, "max_parents": asked["max_parents"], "rng": asked["seed"]}
        return [
            _call("found = lac.search", ["table"], {**how, **wanted, "rng": asked["seed"]}),
            "print(found)",
            *([f"print({_call('lac.arc_probabilities', ['table'], sure)})"] if asked.get("sure") else []),
        ]
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


def _asked(noun: str, given: dict[str, Any], targets: list[str], component: Any) -> list[str]:
    """Return lines that print the posteriors under what is given."""
    if not given and not targets and component is None:
        return [f"print({noun})"]
    out = []
    if noun == "mixture" and isinstance(component, int):
        out, noun = [f"network = mixture.components[{component}]"], "network"
    soft = [name for name, finding in given.items() if isinstance(finding, dict)]
    if noun == "mixture" and soft:  # which its verb does not take
        out += [f"# left out, as only components take it: soft evidence about {', '.join(soft)}"]
        given = {name: finding for name, finding in given.items() if name not in soft}
    known = f"given={pformat(given, sort_dicts=False)}"
    if targets:
        return [*out, *(f"print({noun}.query({name!r}{', ' + known if given else ''}))" for name in targets)]
    if noun == "network":
        return [
            *out,
            f"engine = network.engine({known})",
            "for answer in engine.marginals().values():",
            "    print(answer)",
        ]
    return [*out, "for name in mixture.schema.names:", f"    print(mixture.query(name, {known}))"]


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
