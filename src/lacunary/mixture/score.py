"""What a given mixture is worth on a table: its graphs stay, parameters are fitted from where they are."""

from __future__ import annotations

from typing import Any, get_args

from lacunary.errors import ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.infer.mixture import Mixture
from lacunary.mixture.fit import fit_mixture
from lacunary.mixture.found import MixtureFit
from lacunary.mixture.learner import Choice

__all__ = ["score_mixture"]


def score_mixture(
    model: Mixture | MixtureFit, table: Any, method: str, *, at: str | None = None, **how: Any
) -> Estimate:
    """Return an estimate of log p(table | the components' graphs), in nats; higher is better.

    The columns of the table beside the mixture's are left out. BIC is worked out at the maximum of the
    likelihood unless ``at="map"``, the others at that of the posterior density.
    """
    mixture = model.mixture if isinstance(model, MixtureFit) else model
    if method not in get_args(Choice):
        raise ParameterError(f"a mixture is weighed by {', '.join(get_args(Choice))}, not by {method!r}")
    names = [v.name for v in mixture.schema if not v.hidden]
    hidden = {v.name: v.size if v.discrete else "continuous" for v in mixture.schema if v.hidden}
    noise = mixture.noise
    bounds = noise and {
        name: (float(low), float(high)) for name, low, high in zip(names, noise.low, noise.high, strict=True)
    }
    likelihood = method == "bic" and at != "map"
    found = fit_mixture(
        table[names] if hasattr(table, "schema") else table,
        structure=[component.dag for component in mixture.components],
        initial=mixture,
        hidden=hidden or None,
        noise=bounds or False,
        method="ml" if likelihood else "map",
        choose=method,  # type: ignore[arg-type]
        **how,
    )
    return found.estimate
