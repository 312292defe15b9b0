"""One model as a service, ``lacunary serve``: queries, posteriors, fillings, explanations, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

import lacunary as lac
from lacunary.workbench.asking import Asked, opened, told
from lacunary.workbench.replies import Plain, complaints

__all__ = ["Service", "service"]

Label = str | int | float | bool | None


@dataclass(frozen=True)
class Service:
    """How much may be asked at once."""

    most_questions: int = 1000
    most_rows: int = 10_000
    most_bytes: int = 16 * 2**20


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Question(_Body):
    """Targets, and what is given: states by label, values, or likelihoods by state."""

    targets: Annotated[list[str], Field(max_length=1000)] = []
    given: dict[str, str | int | float | bool | dict[str, float]] = {}


class Questions(_Body):
    """Several questions, answered in their order."""

    questions: list[Question]


class Rows(_Body):
    """Rows with holes, each an object from names to labels or numbers; null is a hole."""

    rows: list[dict[str, Label]]
    targets: Annotated[list[str], Field(max_length=1000)] | None = None


class Filling(Rows):
    """Rows to fill, and how; see `lacunary.impute`."""

    how: Annotated[str, Field(pattern="^(mode|mean|draw|probability)$")] = "mode"
    copies: Annotated[int, Field(ge=1, le=100)] = 1
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0


def service(model: str, limits: Service) -> FastAPI:
    """Return the application that answers questions about the model in a file."""
    found: Any = getattr(lac, model)() if model in ("asia", "alarm") else lac.load(model)
    asked, lock = Asked(opened(found)), Lock()
    app = FastAPI(
        title="lacunary serve", version=lac.__version__, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, default_response_class=Plain,
        description="Questions to one model. Every request needs the token that was printed at the start.",
    )  # fmt: skip
    complaints(app)

    @app.get("/api/model", summary="The variables and arcs")
    def shown() -> Any:
        return asked.shown()

    @app.post("/api/query", summary="The posterior of each target, or of every variable, given what is known")
    def query(question: Question) -> Any:
        return _answer(asked, question)

    @app.post("/api/batch", summary="Many questions at once")
    def batch(several: Questions) -> Any:
        if len(several.questions) > limits.most_questions:
            raise lac.ParameterError(f"at most {limits.most_questions} questions are answered at once")
        return {"answers": [_tried(asked, question) for question in several.questions]}

    @app.post("/api/explain", summary="The jointly most probable states of all variables")
    def explain(question: Question) -> Any:
        best = asked.explain(_given(asked, question.given))
        labels = {v.name: _label(v, best["states"][v.name]) for v in asked.variables}
        return {"explanation": labels, "log_probability": best["log_probability"]}

    @app.post("/api/posterior", summary="The posterior of the targets in every row")
    def posterior(rows: Rows) -> Any:
        table = _table(asked, rows.rows, limits)
        with lock:
            every = asked.model.posterior(table, rows.targets)
        return {"posterior": {str(name): _by_row(one) for name, one in every.items()}}

    @app.post("/api/impute", summary="Rows with every hole filled")
    def impute(rows: Filling) -> Any:
        if rows.copies * len(rows.rows) > limits.most_rows:
            raise lac.ParameterError(f"at most {limits.most_rows} rows are filled at once")
        table = _table(asked, rows.rows, limits)
        with lock:
            filled = lac.impute(asked.model, table, how=rows.how, copies=rows.copies, rng=rows.seed)  # type: ignore[arg-type]
        columns = {name: filled[name].tolist() for name in filled.columns}
        return {"rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}

    return app


def _given(asked: Asked, given: dict[str, Any]) -> dict[str, Any]:
    """Return what is given by label as the engine takes it; a label may be spelled as text."""
    out: dict[str, Any] = {}
    for name, finding in given.items():
        variable = asked.which if asked.which and name == asked.component else asked.schema[name]
        spelled = {str(state): state for state in variable.states}
        if isinstance(finding, dict):
            likelihood = dict.fromkeys(variable.states, 0.0)
            for state, one in finding.items():
                likelihood[variable.states[variable.encode(spelled.get(state, state))]] = one
            out[name] = likelihood
        elif variable.discrete:
            out[name] = variable.states[variable.encode(spelled.get(str(finding), finding))]
        else:
            out[name] = finding
    return out


def _answer(asked: Asked, question: Question) -> dict[str, Any]:
    found = asked.ask(_given(asked, question.given))
    names = [variable.name for variable in asked.variables]
    for name in question.targets:
        if name not in names:
            asked.schema.index(name)
    wanted = question.targets or names
    out = {}
    for name in wanted:
        answer, variable = found["marginals"][names.index(name)], asked.variables[names.index(name)]
        states = [str(state) for state in variable.states]
        out[name] = dict(zip(states, answer["p"], strict=True)) if "p" in answer else answer
    return {"log_probability": found["log_probability"], "posterior": out}


def _tried(asked: Asked, question: Question) -> dict[str, Any]:
    try:
        return _answer(asked, question)
    except lac.LacunaryError as problem:
        return {"error": str(problem)}


def _table(asked: Asked, rows: list[dict[str, Label]], limits: Service) -> lac.Table:
    if not 0 < len(rows) <= limits.most_rows:
        raise lac.TableError(f"from one to {limits.most_rows} rows are taken at once, not {len(rows)}")
    for name in {name for row in rows for name in row}:
        asked.schema.index(name)
    columns = {v.name: [row.get(v.name) for row in rows] for v in asked.schema if not v.hidden}
    return lac.read(columns, schema=asked.schema)


def _by_row(answer: Any) -> Any:
    if isinstance(answer, lac.NormalMixture):
        return [told(answer[row]) for row in range(len(answer.weights))]
    return answer.tolist()


def _label(variable: lac.Variable, found: dict[str, Any]) -> Any:
    return found["value"] if "value" in found else variable.states[found["state"]]
