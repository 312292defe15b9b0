"""The work that jobs do: each reads its options, calls a public verb, and keeps what was found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.workbench.telling import Job

__all__ = ["WORK", "drawn"]

POINTS = 80
"""Points of a start's path that are told."""


def estimate_of(found: Any) -> dict[str, Any]:
    """Return an estimate of the evidence as plain words and numbers."""
    return {
        "method": found.method,
        "value": found.value,
        "kind": found.kind,
        "stderr": found.stderr,
        "dimension": found.dimension,
        "note": str(found.details.get("note", "")),
        "trustworthy": found.trustworthy,
    }


def signed(x: float) -> str:
    """Return a number in two decimals, with a true minus sign."""
    return f"{x:.2f}".replace("-", "\N{MINUS SIGN}")


def _counted(many: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{many} {noun if many == 1 else plural}"


def _climbs(progress: Any) -> list[list[float]]:
    """Return the path of every start, thinned out."""
    out = []
    for climb in progress.climbs():
        path = [value for value in climb.trace if value == value and abs(value) != float("inf")]
        step = max(1, len(path) // POINTS)
        out.append([*path[::step], *path[-1:]])
    return out


def classes(job: Job) -> dict[str, Any]:
    """Learn hidden classes, for every number asked for."""
    asked, table = job.options, job.table()
    numbers = list(range(asked["from"], asked["to"] + 1))

    def say(k: int, progress: Any) -> dict[str, Any]:
        done = (numbers.index(k) + min(progress.iteration / 60, 1.0)) / (len(numbers) + 1)
        words = f"{_counted(k, 'class')}: step {progress.iteration}, {progress.active} starts climbing"
        return {"part": done, "say": words, "best": progress.best, "paths": _climbs(progress)}

    def weigh(done: int, total: int, what: str) -> None:
        if job.due():
            part = (len(numbers) + (done + 1) / total) / (len(numbers) + 1)
            job.tell({"part": part, "say": f"weighing {what}"})

    found = lac.classes(
        table,
        numbers,
        hidden=asked["hidden"],
        aside=asked["aside"],
        starts=asked["starts"],
        rng=asked["seed"],
        watch=job.watched(say),
        tell=weigh,
        resume=job.earlier(),
    )
    names = dict(zip(found.comparison.models, found.candidates, strict=True))
    for label, candidate in names.items():
        best = candidate.classes == found.number
        estimates = [estimate_of(one) for one in found.comparison.estimates[label].values()]
        job.keep(
            found.network if best else candidate.fit.network,
            _counted(candidate.classes, "class"),
            best=best,
            classes=candidate.classes,
            hidden=asked["hidden"],
            estimates=estimates,
            log_likelihood=candidate.fit.log_likelihood,
            criterion=found.criterion,
            made=f"found.fits[{candidate.classes}].network" if not best else "found.network",
        )
    title = {"title": f"Hidden classes in {job.asked['table_name']}", "source": ""}
    found.page(job.file("report.html", f"{job.asked['table_name']} classes.html"), **title)
    return {
        "say": f"{_counted(found.number, 'class')} {'is' if found.number == 1 else 'are'} best",
        "profile": found.to_dict()["classes"],
    }


def search(job: Job) -> dict[str, Any]:
    """Look for the graph."""
    asked, table = job.options, job.table()

    def say(progress: Any) -> dict[str, Any]:
        trail = progress.trail()
        words = f"step {progress.steps}: {progress.arcs} arcs, score {signed(progress.score)} nats"
        return {"part": progress.part, "say": words, "best": progress.best, "arcs": list(trail.dag.arcs)}

    earlier = job.earlier()
    found = lac.search(
        table,
        method=asked["method"],
        score=asked["score"],
        max_parents=asked["max_parents"],
        required=[tuple(arc) for arc in asked["required"]],
        forbidden=[tuple(arc) for arc in asked["forbidden"]],
        hidden=asked["hidden"] or None,
        starts=asked["starts"],
        start=earlier,
        watch=job.watched(say),
        rng=asked["seed"],
    )
    name = job.asked["table_name"]
    sure = _arc_probabilities(job, table) if asked.get("sure") else None
    arcs = [
        {"tail": tail, "head": head, "nats": lost, **({} if sure is None else {"p": sure[tail, head]})}
        for (tail, head), lost in found.strengths.items()
    ]
    estimates = [{"method": "search score", "value": found.score, "kind": "approximation", "stderr": None}]
    job.keep(found.network, "graph", best=True, strengths=arcs, estimates=estimates, made="found.network")
    found.page(job.file("report.html", f"{name} graph.html"), title=f"What depends on what in {name}")
    if sure is not None:
        sure.page(job.file("arcs.html", f"{name} arcs.html"), title=f"How sure of each arc in {name}")
    return {"say": f"{len(found.dag.arcs)} arcs, score {signed(found.score)} nats by {found.method}"}


def _arc_probabilities(job: Job, table: lac.Table) -> lac.ArcProbabilities:
    """Return how probable each arc is, over all graphs that the search was allowed."""
    asked = job.options

    def watch(done: int, total: int) -> None:
        if job.due():
            job.tell({"part": done / total, "say": f"how sure of each arc: draw {done} of at most {total}"})

    return lac.arc_probabilities(
        table,
        required=[tuple(arc) for arc in asked["required"]],
        forbidden=[tuple(arc) for arc in asked["forbidden"]],
        max_parents=asked["max_parents"],
        watch=watch,
        rng=asked["seed"],
    )


def mixture(job: Job) -> dict[str, Any]:
    """Learn a mixture of networks."""
    asked, table = job.options, job.table()
    numbers: Any = "auto" if asked["to"] is None else range(asked["from"], asked["to"] + 1)

    def say(progress: Any) -> dict[str, Any]:
        tick = progress.tick
        words = f"{progress.asked} components: {tick.phase}, {tick.arcs} arcs"
        return {"part": None, "say": words, "best": progress.best}

    found = lac.fit_mixture(
        table,
        components=numbers,
        structure=asked["structure"],
        noise=asked["noise"],
        max_parents=asked["max_parents"],
        watch=job.watched(say),
        resume=job.earlier(),
        rng=asked["seed"],
    )
    curve: dict[int, float] = {}
    for trial in found.path:
        curve[trial.components] = max(curve.get(trial.components, -float("inf")), trial.value)
    many = len(found.mixture.components)
    arcs = sum(len(component.dag.arcs) for component in found.mixture.components)
    job.keep(
        found.mixture,
        _counted(many, "component"),
        best=True,
        estimates=[estimate_of(found.estimate)],
        curve=sorted(curve.items()),
        made="found.mixture",
    )
    name = job.asked["table_name"]
    page = job.file("report.html", f"{name} groups.html")
    found.page(page, table=table, title=f"Groups in {name}, and what depends on what in each")
    told = f"{_counted(many, 'component')}, {_counted(arcs, 'arc')} in all"
    return {"say": f"{told}; log evidence {signed(found.estimate.value)} nats"}


def fit(job: Job) -> dict[str, Any]:
    """Learn the parameters of a graph that was drawn."""
    asked, table = job.options, job.table()
    dag = drawn(table, asked["arcs"], asked["hidden"])

    def say(progress: Any) -> dict[str, Any]:
        words = f"step {progress.iteration}, {progress.active} starts climbing"
        part = min(progress.iteration / 100, 0.95)
        return {"part": part, "say": words, "best": progress.best, "paths": _climbs(progress)}

    earlier = job.earlier()
    starts = None if earlier is not None else asked["starts"]
    found = lac.fit(
        dag,
        table,
        method=asked["method"],
        starts=starts,
        initial=earlier,
        watch=job.watched(say),
        rng=asked["seed"],
    )
    job.tell({"part": 0.97, "say": "weighing it"})
    method = "variational" if asked["method"] == "variational" else "cheeseman-stutz"
    estimates = []
    with suppress(lac.LacunaryError):
        estimates.append(estimate_of(lac.score(found, table, method)))
    job.keep(
        found.network, "drawn graph", best=True, estimates=estimates, log_likelihood=found.log_likelihood,
        made="found.network",
    )  # fmt: skip
    return {"say": f"log-likelihood {signed(found.log_likelihood)} nats after {found.iterations} steps"}


def drawn(table: lac.Table, arcs: list[list[str]], hidden: dict[str, int]) -> lac.Dag:
    """Return the graph of arcs over all columns and some hidden variables."""
    new = [
        lac.Variable(name, tuple(str(k + 1) for k in range(size)), hidden=True)
        for name, size in hidden.items()
    ]
    schema = lac.Schema((*table.schema, *new))
    return lac.Dag.from_arcs(schema, [(tail, head) for tail, head in arcs])


def compare(job: Job) -> dict[str, Any]:
    """Weigh models of one table by estimates of their evidence."""
    asked, table = job.options, job.table()
    methods, dags = asked["methods"], {}
    found: dict[str, dict[str, Any]] = {}
    total, done = len(asked["models"]) * len(methods), 0
    for one in asked["models"]:
        thing = lac.load(job.folder.parent.parent / "models" / one["id"] / "model.json")
        model: Any = thing.dag if isinstance(thing, lac.Network) else thing
        dags[one["id"]] = model
        found[one["id"]] = {}
        for method in methods:
            if job.due() or not done:
                job.tell({"part": done / total, "say": f"{one['name']}: {method}"})
            found[one["id"]][method] = _weighed(model, table, method, asked["seed"])
            done += 1
    alike = len({tuple(one.get("columns", ())) for one in asked["models"]}) == 1
    usable = [m for m in methods if all(isinstance(e[m], lac.Estimate) for e in found.values())]
    return {
        "say": f"{_counted(len(found), 'model')} weighed by {', '.join(methods)}",
        "estimates": {key: [_told(*one) for one in each.items()] for key, each in found.items()},
        "probabilities": {m: _shares(found, m, len(dags)) for m in usable if alike and len(found) > 1},
        "held_out": {key: _held_out(thing, table) for key, thing in dags.items()}
        if asked["held_out"]
        else {},
    }


def _weighed(model: Any, table: lac.Table, method: str, seed: int) -> lac.Estimate | str:
    """Return an estimate; a sentence where it cannot be had of this model."""
    try:
        return lac.score(model, table, method, rng=seed)
    except lac.LacunaryError as problem:
        return str(problem)


def _told(method: str, found: lac.Estimate | str) -> dict[str, Any]:
    """Return an estimate, or why there is none, as plain words and numbers."""
    if isinstance(found, str):
        return {"method": method, "value": None, "kind": "none", "stderr": None, "note": found}
    return estimate_of(found)


def _shares(found: dict[str, Any], method: str, many: int) -> dict[str, Any]:
    """Return each model's posterior probability with its interval."""
    none: Any = dict.fromkeys(found)  # mixtures have no graph, and shares ask for none
    had = {key: {m: e for m, e in each.items() if isinstance(e, lac.Estimate)} for key, each in found.items()}
    told = lac.Comparison(none, (method,), had, np.full(many, -np.log(many)), {})
    return {
        key: {"probability": share.probability, "low": share.low, "high": share.high}
        for key, share in zip(found, told.shares(method), strict=True)
    }


def _held_out(model: Any, table: lac.Table) -> float:
    """Return the mean log-density of rows that were not learned from, in five parts, in nats a row."""
    parts = np.random.default_rng(0).permutation(len(table)) % 5
    total = 0.0
    for part in range(5):
        kept, out = table.take(parts != part), table.take(parts == part)
        if isinstance(model, lac.Mixture):
            graphs = [component.dag for component in model.components]
            noise = model.noise is not None
            again: Any = lac.fit_mixture(kept, components=len(graphs), structure=graphs, noise=noise).mixture
        else:
            again = lac.fit(model, kept).network
        total += float(out.weights @ again.log_probability(out))
    return total / table.size


def impute(job: Job) -> dict[str, Any]:
    """Fill all holes."""
    asked, table = job.options, job.table()
    job.tell({"part": 0.05, "say": "filling"})
    how, copies, seed = asked["how"], asked["copies"], asked["seed"]
    numbered = "copy" if copies > 1 and "copy" not in table.schema.names else None
    if asked["model"]:
        thing = lac.load(job.folder.parent.parent / "models" / asked["model"] / "model.json")
        filled = lac.impute(thing, table, how=how, copies=copies, copy_column=numbered, rng=seed)
    else:

        def watch(done: int, total: int) -> None:
            if job.due():
                job.tell(
                    {
                        "part": done / total,
                        "say": f"learning what columns tell of each other, {done} of {total}",
                    }
                )

        filled = lac.impute(table, how=how, copies=copies, copy_column=numbered, watch=watch, rng=seed)
    frame: Any = filled.to_frame("polars")
    path = job.file("filled.csv", f"{job.asked['table_name']} filled.csv")
    lac.write_whole(path, frame.write_csv())
    return {"say": f"{int(table.holes.sum())} holes filled" + (f", {copies} copies" if copies > 1 else "")}


WORK: dict[str, Callable[[Job], dict[str, Any]]] = {
    "classes": classes,
    "search": search,
    "mixture": mixture,
    "fit": fit,
    "compare": compare,
    "impute": impute,
}
"""The work there is, by name."""
