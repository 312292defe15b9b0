"""Which papers there are."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from lacunary import ParameterError
from lacunary.papers.claims import Claim, read_claims
from lacunary.papers.outcome import Paper

__all__ = ["claims_of", "keys", "paper"]

HERE = Path(__file__).parent


def keys() -> list[str]:
    """Return the keys of all papers that can be reproduced."""
    found = (module.name for module in pkgutil.iter_modules([str(HERE)]) if module.ispkg)
    return sorted(key for key in found if (HERE / key / "run.py").exists())


def paper(key: str) -> Paper:
    """Return how a paper is reproduced."""
    if key not in keys():
        raise ParameterError(f"there is no paper {key!r}; there are {', '.join(keys())}")
    found: Paper = import_module(f"lacunary.papers.{key}.run").PAPER
    return found


def claims_of(key: str) -> tuple[Mapping[str, Any], tuple[Claim, ...]]:
    """Return the head of a paper and what it claims."""
    return read_claims(HERE / key / "claims.toml")
