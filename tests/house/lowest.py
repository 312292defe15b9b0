"""Print the lower bounds of all dependencies as constraints, which ``make test-oldest`` installs."""

from __future__ import annotations

import re
import tomllib

from tests.house.pages import ROOT

TOOLS = ("ruff", "mypy", "pandas-stubs", "import-linter")
"""What checks the text and not the behaviour is not needed."""


def lowest() -> list[str]:
    """Return each runtime and test dependency with the version it must at least have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)(,<[\d.]+)?", one) for one in wanted]
    return [f"{one[1]}=={one[2]}" for one in found if one and one[1] not in TOOLS]


if __name__ == "__main__":
    print("\n".join(lowest()))
