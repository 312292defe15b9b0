"""Whether structures were found again (section 7, Table 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, error_of_mean, verdict_if
from lacunary.papers.tmch98.compare import told_share
from lacunary.papers.tmch98.printed import TABLE_2
from lacunary.papers.tmch98.recovery import recovered, unmixed
from lacunary.papers.tmch98.tables import ARCS, SIZES

__all__ = ["differences", "structure_found", "structure_listings"]

NAMES = ("COMP1", "COMP2", "COMP3")

VARIANTS = {
    "": "",
    "default": ", with the library's default prior",
    "trees": ", where the truth is a chain and a star",
}
"""What section 7 is redone with, as it is told in titles; the first is what verdicts are taken from."""


def _runs(results: Results, rows: int, variant: str = "") -> list[Record]:
    """Return the runs with the paper's schedule: as registered, or with a prior or pair of structures."""
    found = []
    for record in results.of(recovered, rows=rows):
        given = record.arguments
        here = given.get("prior") or given.get("pair") or ""
        if here == variant and "schedule" not in given:
            found.append(record)
    return found


def differences(results: Results, rows: int, component: int, what: str = "changes") -> list[int]:
    """Return arc differences of a component over seeds, where it was found."""
    parts = [record.value["components"][component] for record in _runs(results, rows)]
    return [part[what] for part in parts if part is not None]


def structure_listings(results: Results) -> list[Listing]:
    """Return Table 2, with other priors and structures too, and what is found where nothing is mixed."""
    out = []
    for variant, told in VARIANTS.items():
        rows = [_line(size, runs) for size in SIZES if (runs := _runs(results, size, variant))]
        columns = ["rows", "seeds", "k printed", "k", "weight printed", "weight"]
        columns += [head for name in NAMES for head in (f"{name} printed", "ours", "found in")]
        arcs = ARCS["trees" if variant == "trees" else "colliders"]
        note = (
            "Ours are means over seeds; arc differences over those in which the component was found. "
            f"COMP1 and COMP3: {_told(arcs[0])}; COMP2: {_told(arcs[1])}."
        )
        name = f"table-2-{variant}" if variant else "table-2"
        out.append(Listing(name, f"Table 2: structures found again{told}", columns, rows, note))
    return [*out, _unmixed_listing(results)]


def _unmixed_listing(results: Results) -> Listing:
    rows: list[list[Any]] = []
    for size in SIZES:
        runs = [record.value for record in results.of(unmixed, rows=size)]
        if runs:
            cells = [
                f"{np.mean([run[method][c]['changes'] for run in runs]):.1f}"
                for c in range(3)
                for method in ("greedy", "exact")
            ]
            rows.append([size, len(runs), *cells])
    columns = ["rows", "seeds", *(head for name in NAMES for head in (f"{name} greedy", "exact"))]
    title = "Arc differences where it is known which rows are whose"
    note = "Rows of all three together. The library's default prior."
    return Listing("unmixed", title, columns, rows, note)


def _told(arcs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{a} → {b}" for a, b in arcs)


def _line(size: int, runs: list[Record]) -> list[Any]:
    k, weight, printed = TABLE_2[size]
    means = [float(np.mean([run.value[name] for run in runs])) for name in ("k", "weight")]
    line: list[Any] = [size, len(runs), k, f"{means[0]:.1f}", f"{weight:.2f}", f"{means[1]:.2f}"]
    for c in range(3):
        parts = [run.value["components"][c] for run in runs]
        values = [part["changes"] for part in parts if part]
        line += [printed[c], f"{np.mean(values):.1f}" if values else None, f"{len(values)} of {len(parts)}"]
    return line


def structure_found(results: Results) -> dict[str, Found]:
    """Return answers about Table 2: a printed value is one draw, to be found among ours."""
    found: dict[str, Found] = {}
    for size, (k, weight, printed) in TABLE_2.items():
        runs = _runs(results, size)
        if len(runs) < 2:
            continue
        found[f"k-{size}"] = _among([run.value["k"] for run in runs], k)
        found[f"weight-{size}"] = _among([round(run.value["weight"], 2) for run in runs], weight, 0.01)
        for c in range(3):
            values = [float(v) for v in differences(results, size, c)]
            if printed[c] is None:
                missing = len(runs) - len(values)
                verdict = verdict_if(missing >= len(runs) / 2, missing > 0)
                told = f"not found in {missing} of {len(runs)}"
                found[f"comp{c + 1}-{size}"] = Found(told, verdict=verdict)
            elif values:
                found[f"comp{c + 1}-{size}"] = _among(values, float(printed[c] or 0))
    return found | _statements(results)


def _among(values: list[Any], printed: float, step: float = 1.0) -> Found:
    """Return the mean; reproduced if print lies in our middle 90 %, near if one step beside our range."""
    low, high = np.quantile(values, [0.05, 0.95], method="closest_observation")
    inside = low - 1e-9 <= printed <= high + 1e-9
    beside = min(values) - step - 1e-9 <= printed <= max(values) + step + 1e-9
    error = error_of_mean(values) if len(values) > 1 else None
    note = f"over {len(values)} seeds from {min(values):g} to {max(values):g}"
    return Found(round(float(np.mean(values)), 2), error, verdict_if(inside, beside), note)


def _parts(results: Results, variant: str = "", above: int = 0) -> list[dict[str, int]]:
    """Return how the components that were found differ from the truth, from more than so many rows."""
    runs = [run for size in SIZES if size > above for run in _runs(results, size, variant)]
    return [part for run in runs for part in run.value["components"] if part]


def _only_extra(parts: list[dict[str, int]]) -> int:
    """Return how many components have extra arcs alone; one neither extra nor missing is turned round."""
    return sum(part["missing"] == 0 and part["changes"] == part["extra"] for part in parts)


def _statements(results: Results) -> dict[str, Found]:
    found: dict[str, Found] = {}
    large, every, runs = _parts(results, above=375), _parts(results), _runs(results, 375)
    if large:
        found["extra-only"] = told_share(_only_extra(large), len(large), "components")
    if len(runs) > 1:
        found["low-as-375"] = _recovered_at(runs)
    if every:
        close = sum(part["changes"] <= 4 for part in every)
        found["close"] = told_share(close, len(every), "components within 4 arcs, the most in print")
    return found | _greedy(results) | _trees(results)


def _greedy(results: Results) -> dict[str, Found]:
    """Return what greedy search alone costs where nothing is mixed."""
    runs = [record.value for record in results.of(unmixed) if record.arguments["rows"] > 375]
    if not runs:
        return {}
    mean = {m: np.mean([part["changes"] for run in runs for part in run[m]]) for m in ("greedy", "exact")}
    told = f"greedy {mean['greedy']:.2f}, exact {mean['exact']:.2f} arcs off a component"
    return {"greedy": Found(told, note="above 375 rows; both by the same score on complete data")}


def _trees(results: Results) -> dict[str, Found]:
    parts = _parts(results, "trees", above=375)
    if not parts:
        return {}
    only = _only_extra(parts)
    mean = np.mean([part["changes"] for part in parts])
    note = f"only extra arcs in {only} of {len(parts)} components"
    return {"trees": Found(f"{mean:.2f} arcs off a component above 375 rows", note=note)}


def _recovered_at(runs: list[Record]) -> Found:
    """Return in how many seeds three components are found, each within one arc of the truth, as in print."""
    three = [run for run in runs if run.value["k"] >= 3 and None not in run.value["components"]]
    right = sum(all(part["changes"] <= 1 for part in run.value["components"]) for run in three)
    verdict = verdict_if(right > len(runs) / 2, right > 0)
    note = f"three components or more in {len(three)} of {len(runs)}"
    return Found(f"{right} of {len(runs)} seeds", verdict=verdict, note=note)
