"""Print the lower bounds of all dependencies as constraints, which ``make test-oldest`` installs."""

from __future__ import annotations

import re
import tomllib

from tests.house.pages import ROOT

TOOLS = ("ruff", "mypy", "pandas-stubs", "import-linter", "schemathesis")
"""What checks the text and not the behaviour is not needed; nor what needs later versions than we do."""

COMPANIONS = ("click<8.3", "pyparsing<3.3")
"""What old Typer and Matplotlib depend on themselves; later releases of it warn of their old ways."""


def lowest() -> list[str]:
    """Return each runtime and test dependency with the version it must at least have; and companions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)(,<[\d.]+)?", one) for one in wanted]
    return [*(f"{one[1]}=={one[2]}" for one in found if one and one[1] not in TOOLS), *COMPANIONS]


if __name__ == "__main__":
    print("\n".join(lowest()))
