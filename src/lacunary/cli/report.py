"""``lacunary report``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Data, Json, Reading, Texts, option, written
from lacunary.cli.delimited import note_formulas
from lacunary.cli.problem import Seed
from lacunary.cli.show import Waiting, emit, say_written, show

__all__ = ["report"]

ERRORS = "Where standard errors come from."
REPLICATES = "Tables drawn from the model for bootstrap p-values of the fit."
LRT = "Replicates of the bootstrap test against one class more."
DRAWS = "Resamples or posterior draws that errors are taken from."
COVARIATE = "A column on which class membership depends; may be repeated."
OUTCOME = "A column that depends on the class; may be repeated."
STEPS = "Covariates: with the classes (1), or after them (3)."
CORRECTION = "Of three steps: for assignments that are wrong."
CLUSTER = "The column of what was drawn together; errors are then robust."
STRATUM = "The column of the strata that clusters were drawn in."
CHECKS = "Tables drawn from the posterior, with which the rows are compared."
OUT = "The parameters: .csv, .tex (LaTeX, booktabs), .txt."


@command(
    "lacunary report soybean --classes 2 --drop class --starts 2 --out soybean.tex",
    "lacunary report house_votes --classes 2 --covariate party --steps 3 --starts 2",
)
def report(
    data: Data,
    reading: Reading,
    classes: Annotated[int, option("How many classes.", "K", min=1)],
    hidden: Annotated[str, option("What to call the class.", "NAME")] = "class",
    errors: Annotated[Literal["curvature", "robust", "bootstrap", "posterior"], option(ERRORS)] = "curvature",
    replicates: Annotated[int, option(REPLICATES, "N", min=0)] = 0,
    lrt: Annotated[int, option(LRT, "N", min=0)] = 0,
    checks: Annotated[int, option(CHECKS, "N", min=0)] = 0,
    draws: Annotated[int, option(DRAWS, "N", min=2)] = 200,
    covariate: Annotated[Texts, option(COVARIATE, "COLUMN")] = None,
    outcome: Annotated[Texts, option(OUTCOME, "COLUMN")] = None,
    steps: Annotated[int, option(STEPS, "1|3")] = 1,
    correction: Annotated[Literal["ml", "bch", "none"], option(CORRECTION)] = "ml",
    cluster: Annotated[str | None, option(CLUSTER, "COLUMN")] = None,
    stratum: Annotated[str | None, option(STRATUM, "COLUMN")] = None,
    starts: Annotated[int, typer.Option(min=1, help="Random starts of a fit.")] = 20,
    rng: Seed = 0,
    out: Annotated[str | None, written(OUT, (".csv", ".tex", ".txt"), "--out", "-o")] = None,
    json: Json = False,
) -> None:
    """Report on latent classes as it is published: parameters with errors, fit, criteria, classification.

    With --covariate also a multinomial logit of class membership, with --outcome what later columns are like
    in each class, by three steps. --weights names sampling weights; errors are then robust with --errors
    robust. Lower criteria are better, as they are published.

    --json prints: classes, rows, log_likelihood, parameters, criteria, absolute, p_values, entropy_r2,
    classification, classification_error, average_posterior, residuals, estimates, related (covariates and
    outcomes), checks, lrt, out.
    """
    if steps not in (1, 3):
        raise typer.BadParameter(f"{steps} is neither 1 nor 3", param_hint="--steps")
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data)
        labels = {name: _labels(table, name) for name in (cluster, stratum) if name}
        apart = [*(covariate or ()), *(outcome or ()), *labels]
        items = table.select([name for name in table.schema.names if name not in apart])
        waiting.say("fitting classes")
        design: dict[str, Any] = {
            "clusters": labels.get(cluster or ""), "strata": labels.get(stratum or "")
        }  # fmt: skip

        def watch(done: int, total: int) -> None:
            waiting.progress(f"{done} of {total} replicates", done / total)

        found = lac.class_report(
            classes, items, hidden=hidden, errors=errors, replicates=replicates, draws=draws, starts=starts,
            watch=watch, rng=rng, **design,
        )  # fmt: skip
        rest = {"hidden": hidden, "correction": correction, "watch": watch, "rng": rng, **design}
        rest |= {"draws": draws if errors == "bootstrap" else 0}
        rows = table.select([name for name in table.schema.names if name not in labels])
        told: list[Any] = []
        if covariate:
            used = rows.select([*items.schema.names, *covariate])
            told.append(
                lac.class_covariates(found.fit, used, covariate, steps=3 if steps == 3 else 1, **rest)
            )
        for name in outcome or ():
            told.append(lac.class_outcome(found.fit, rows.select([*items.schema.names, name]), name, **rest))
        test = (
            lac.bootstrap_lrt(
                items, classes, hidden=hidden, replicates=lrt, starts=starts, watch=watch, rng=rng
            )
            if lrt
            else None
        )
        compared = (
            lac.predictive_check(found.fit, items, tables=checks, watch=watch, rng=rng) if checks else None
        )
        if out:
            form = out.rpartition(".")[2]
            if form == "csv":
                note_formulas(text for one in found.parameters for text in (one.variable, one.label))
            text = {"csv": found.to_csv, "tex": found.to_latex}.get(form, lambda: str(found))()
            lac.write_whole(out, text if text.endswith("\n") else text + "\n")
    if json:
        emit({**_plain(found), **_more(told, test, compared), "out": out})
        return
    for said in (found, *told, compared, test):
        if said is not None:
            show(str(said))
            show("")
    say_written((out,), "--out FILE.csv, FILE.tex or FILE.txt keeps the table")


def _labels(table: lac.Table, name: str) -> Any:
    variable, i = table.schema[name], table.schema.index(name)
    return table.codes[:, i] if variable.discrete else table.reals[:, i]


def _plain(found: lac.ClassReport) -> dict[str, Any]:
    fit = found.fit
    return {
        "classes": fit.classes,
        "rows": len(fit.table),
        "log_likelihood": fit.log_likelihood,
        "parameters": fit.parameters,
        "criteria": fit.criteria,
        "absolute": dict(found.absolute),
        "p_values": {k if isinstance(k, str) else ", ".join(k): p for k, p in found.p_values.items()},
        "entropy_r2": fit.entropy_r2,
        "classification": fit.classification.tolist(),
        "classification_error": fit.classification_error,
        "average_posterior": fit.average_posterior.tolist(),
        "residuals": [asdict(one) for one in found.residuals],
        "estimates": [_finite(asdict(one)) for one in found.parameters],
    }


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in record.items()}


def _more(
    told: list[Any], test: lac.BootstrapLrt | None, compared: lac.PredictiveCheck | None
) -> dict[str, Any]:
    def plain(one: Any) -> dict[str, Any]:
        numbers = [_finite(asdict(effect)) for effect in one.effects]
        return {"title": one.title, "effects": numbers, "wald": one.wald, "dof": one.dof, "p": one.p}

    return {
        "related": [plain(one) for one in told],
        "checks": [_finite(asdict(one)) for one in compared.statistics] if compared else None,
        "lrt": asdict(test) if test else None,
    }
