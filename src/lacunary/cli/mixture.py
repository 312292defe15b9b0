"""``lacunary mixture``."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import (
    STRUCTURE_PRIOR,
    TIER,
    Data,
    Json,
    Reading,
    Texts,
    check_out,
    is_arrows,
    numbers_of,
    option,
    pairs,
    structure_prior_of,
    tiers_of,
    written,
)
from lacunary.cli.checkpoints import CHECKPOINT, Checkpoints, keep_result, resumed
from lacunary.cli.problem import Seed, prior_of
from lacunary.cli.show import Waiting, emit

__all__ = ["mixture"]

Choose = Literal["cheeseman-stutz", "bic", "laplace", "ais", "variational"]
Fitted = Literal["map", "ml"]
Search = Literal["reinsert", "greedy", "tabu", "best-first", "anneal", "exact"]
Begin = Literal["equal", "draws"]
Until = Literal["structure", "score"]
Text = str | None
GRAPHS = "The components' graphs"
LEARNING = "Learning"

COMPONENTS = "How many; several to try; auto: grow until the estimate has fallen twice."
NOISE = "Add a uniform component for outliers; its bounds are learned."
BOUNDS = "Add a uniform component between these bounds."
STRUCTURE = (
    "learn: each component its own graph; tree; empty: variables independent within a component; complete: "
    "full covariances. Or arrows, or a model file: the graph of every component, or repeated, of each."
)
INITIAL = "A mixture to go on from in place of starts; .json."
METHOD = "map: with a prior; ml: the likelihood alone, numbers and graphs by BIC."
SEARCH = "The search for graphs; best-first, anneal and greedy are the whole of it, others follow a climb."
CHOOSE = "The estimate by which the number of components is chosen."
AROUND = "Climb from this many draws around the fit to all rows instead, as published."
BEGIN = "Weights with which such draws begin."
ESS = "Rows that the belief around the fit to all rows is worth."
WEIGHTS = "Pseudo-counts of the components' weights, all together."
NOISE_SHARE = "The noise's part of these."
PRIOR = "Of discrete variables; of continuous ones the table's own."
FAMILY = "A family other than a table or a linear regression; may be repeated."
PARENTS = "How many parents a variable may have."
HIDDEN = "A hidden variable inside the components: states, a range to try, or continuous; may be repeated."
SHARED = (
    "What components have in common: structure, size, volume, shape, orientation, sphere; or a code such as "
    "EEE or VII."
)
GIVEN = "A discrete column whose states are the components, to classify rows with."
STARTS = "Winners of each number's short tournament of starts that climb to the end."
SCHEDULE = "How EM and search take turns; see docs/structural-em.md."
UNTIL = "Learn until no structure changes, or until the score of a round does not rise."
REPORT = "A page: graphs, profiles, the path of the search; .html."
RESUME = "Go on from a checkpoint, with the same table and options, and keep writing it."


@command(
    "lacunary mixture house_votes --drop party --components 1..3 --max-parents 1 --out groups.json",
    "lacunary mixture house_votes --drop party --components 2 --structure tree --report groups.html",
    "lacunary mixture house_votes --drop party --components auto --structure empty --json",
    "lacunary mixture house_votes --checkpoint groups-so-far.json --components 2 --max-parents 1",
    "lacunary mixture house_votes --given party --max-parents 1 --out parties.json",
    "lacunary assign groups.json house_votes --out assigned.csv",
)
def mixture(
    data: Data,
    components: Annotated[str, option(COMPONENTS, "auto|K|1..6|1,2,4")] = "auto",
    noise: Annotated[bool, typer.Option("--noise", help=NOISE)] = False,
    noise_bounds: Annotated[tuple[float, float] | None, option(BOUNDS, "LOW HIGH")] = None,
    structure: Annotated[Texts, option(STRUCTURE, "KIND|ARROWS|MODEL", panel=GRAPHS)] = None,
    structure_prior: Annotated[Text, option(STRUCTURE_PRIOR, "NAME|NATS", panel=GRAPHS)] = None,
    max_parents: Annotated[int | None, option(PARENTS, "N", min=0, panel=GRAPHS)] = None,
    required: Annotated[
        Texts, option("Arcs that must be; may be repeated.", "'A -> B'", panel=GRAPHS)
    ] = None,
    forbidden: Annotated[
        Texts, option("Arcs that must not be; may be repeated.", "'A -> B'", panel=GRAPHS)
    ] = None,
    tier: Annotated[Texts, option(TIER, "A,B,…", panel=GRAPHS)] = None,
    family: Annotated[Texts, option(FAMILY, "NAME=FAMILY", panel=GRAPHS)] = None,
    hidden: Annotated[Texts, option(HIDDEN, "NAME=K|1..3|continuous", panel=GRAPHS)] = None,
    shared: Annotated[Text, option(SHARED, "WHAT,…|CODE", panel=GRAPHS)] = None,
    given: Annotated[Text, option(GIVEN, "COLUMN")] = None,
    initial: Annotated[Text, option(INITIAL, "MIXTURE", panel=LEARNING)] = None,
    method: Annotated[Fitted, option(METHOD, panel=LEARNING)] = "map",
    prior: Annotated[Text, option(PRIOR, "k2|dirichlet=A|bdeu=ESS", panel=LEARNING)] = None,
    search: Annotated[Search | None, option(SEARCH, panel=LEARNING)] = None,
    choose: Annotated[Choose | None, option(CHOOSE, panel=LEARNING)] = None,
    starts: Annotated[int | None, option(STARTS, "N", min=1, panel=LEARNING)] = None,
    around: Annotated[int | None, option(AROUND, "N", min=1, panel=LEARNING)] = None,
    begin_weights: Annotated[Begin, option(BEGIN, panel=LEARNING)] = "equal",
    ess: Annotated[float, option(ESS, "ROWS", panel=LEARNING)] = 200.0,
    weight_prior: Annotated[float, option(WEIGHTS, "ROWS", panel=LEARNING)] = 1.0,
    noise_share: Annotated[float, option(NOISE_SHARE, "SHARE", panel=LEARNING)] = 0.01,
    schedule: Annotated[str, option(SCHEDULE, panel=LEARNING)] = "((EM)^10 Ec S* M)*",
    until: Annotated[Until, option(UNTIL, panel=LEARNING)] = "structure",
    rng: Seed = 0,
    out: Annotated[Text, written("All that was found: .json, .json.gz.", (".json",), "--out", "-o")] = None,
    report: Annotated[Text, written(REPORT, (".html",))] = None,
    checkpoint: Annotated[Text, option(CHECKPOINT, "FILE")] = None,
    resume: Annotated[Text, option(RESUME, "FILE")] = None,
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Find groups of rows, each with a network of its own. Every row counts.

    Numbers of components are compared by the Cheeseman\N{EN DASH}Stutz estimate of the evidence. Ctrl-C keeps
    the best so far; with --checkpoint nothing is lost even if the machine stops. `lacunary assign` then says
    to which component rows belong; query, sample and impute take a mixture as they take a network.

    --json prints: rows, holes, variables, structure, estimate, prior, structure_prior, log_structure_prior
    (of the graphs, not in the estimate), components (how many), tried (a list of asked, components, starts,
    parameters, estimate, probability, chosen, met), weights, noise (bounds by name, or null), parts (a list
    of weight, graph, arcs with from, to, strength), differences (a list of pair, present), interrupted, out,
    report, checkpoint.
    """
    checkpoint = check_out(checkpoint or resume, (".json",))
    how = {
        "components": "auto" if components == "auto" else numbers_of("--components", components, "auto"),
        "structure": _structure(structure),
        "tiers": tiers_of(tier),
        "family": pairs("--family", family) or None,
        "initial": None if initial is None else _mixture(initial),
        "method": method,
        "prior": None if prior is None else prior_of(prior),
        "search": search,
        "choose": choose,
        "begin_weights": begin_weights,
        "ess": ess,
        "weights": weight_prior,
        "noise_share": noise_share,
        "noise": noise_bounds if noise_bounds is not None else noise,
        "hidden": _hidden(hidden),
        "shared": _shared(shared),
        "given": given,
        "starts": _starts(starts, around, ess),
        "schedule": schedule,
        "until": until,
        "max_parents": max_parents,
        "structure_prior": structure_prior_of(structure_prior),
        "required": required or (),
        "forbidden": forbidden or (),
        "resume": None if resume is None else resumed(resume, lac.MixtureTrail, "learning"),
        "rng": rng,
    }
    keep = Checkpoints(checkpoint)
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data)
        waiting.say("compiling kernels, once…")
        found = _found(table, how, keep, waiting)
        keep_result(found, out)
        if report:
            waiting.say("drawing")
            found.page(report, table=table)
    from lacunary.cli.mixture_text import summary, tell  # help must not wait for what this needs

    if json:
        emit(summary(found, table, {"out": out, "report": report, "checkpoint": checkpoint}))
    else:
        tell(found, table, (out, report))
    if found.interrupted:
        keep.stop("interrupted; this is the best so far")


def _found(table: lac.Table, how: dict[str, Any], keep: Checkpoints, waiting: Waiting) -> lac.MixtureFit:
    """Learn; where that is interrupted write what there is."""
    watch = keep.watching(lambda told: waiting.progress(_progress(told), None))
    try:
        found = lac.fit_mixture(table, watch=watch, **how)
    except KeyboardInterrupt:
        if keep.file is None:
            raise
        keep.stop("interrupted before the first mixture was found")
    keep.now()  # with what is over in it, further numbers can be tried later
    return found


def _progress(progress: lac.MixtureProgress) -> str:
    tick = progress.tick
    best = "" if progress.best is None else f", best {progress.best:.2f}"
    start = f", start {progress.start + 1}" if progress.start else ""
    what = {"em": "EM", "remove": "taking out", "anneal": "annealing"}.get(tick.phase, tick.phase)
    return (
        f"{progress.asked} components{start}: {what}, {tick.arcs} arcs, {tick.objective:.2f}; "
        f"{len(progress.done)} tried{best}"
    )


def _structure(texts: Texts) -> Any:
    """Return a class of structures by name, or the graphs that arrows and model files stand for."""
    if not texts:
        return None
    if len(texts) == 1 and texts[0] in ("learn", "tree", "empty", "complete"):
        return texts[0]
    graphs = [text if is_arrows(text) else _graph(text) for text in texts]
    return graphs[0] if len(graphs) == 1 else graphs


def _graph(path: str) -> lac.Dag:
    """Return the graph in a model file."""
    if not os.path.isfile(path):
        raise typer.BadParameter(
            f"{path!r} is not learn, tree, empty, complete, arrows or a model file", param_hint="--structure"
        )
    thing = lac.load(path)
    found = thing if isinstance(thing, lac.Dag) else getattr(thing, "dag", None)
    if not isinstance(found, lac.Dag):
        raise typer.BadParameter(f"{path} holds no graph", param_hint="--structure")
    return found


def _mixture(path: str) -> lac.Mixture | lac.MixtureFit:
    """Return the mixture in a file."""
    thing = lac.load(path)
    if not isinstance(thing, lac.Mixture | lac.MixtureFit):
        raise typer.BadParameter(f"{path} holds no mixture", param_hint="--initial")
    return thing


def _starts(starts: int | None, around: int | None, ess: float) -> int | lac.Around | None:
    """Return winners of tournaments, or draws as published."""
    if starts is not None and around is not None:
        raise typer.BadParameter("give --starts or --around, not both", param_hint="--around")
    return starts if around is None else lac.Around(around, ess)


def _shared(text: str | None) -> str | list[str]:
    """Return a code such as EEE as it is, and words apart."""
    if text is None:
        return []
    return text if text.isupper() else [word.strip() for word in text.split(",")]


def _hidden(texts: Texts) -> dict[str, int | list[int] | str] | None:
    """Return hidden variables: numbers of states, several to try, or continuous."""
    out: dict[str, int | list[int] | str] = {}
    alone = next((text for text in texts or () if "=" not in text), None)
    if alone is not None:
        told = f"give the number of states, or its kind: {alone}=2, {alone}=1..3, {alone}=continuous"
        raise typer.BadParameter(told, param_hint="--hidden")
    for name, value in pairs("--hidden", texts or ()).items():
        numbers = [] if value == "continuous" else numbers_of("--hidden", value, "continuous")
        out[name] = value if not numbers else numbers[0] if len(numbers) == 1 else numbers
    return out or None
