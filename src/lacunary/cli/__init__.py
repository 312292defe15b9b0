"""The command line: parse, call a verb, print."""

# In the order in which help lists the commands.
# isort: off
from lacunary.cli import demo, describe, fit, classes, search, mixture, assign, query, impute, score
from lacunary.cli import reproduce

# isort: on
from lacunary.cli.app import app

__all__ = [
    "app",
    "assign",
    "classes",
    "demo",
    "describe",
    "fit",
    "impute",
    "main",
    "mixture",
    "query",
    "reproduce",
    "score",
    "search",
]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="lacunary")
