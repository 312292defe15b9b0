"""The command line: parse, call a verb, print."""

# In the order in which help lists the commands.
from lacunary.cli import demo, look, learn, classes, find, mix, assign, ask, fill, weigh, reproduce  # isort: skip
from lacunary.cli.app import app

__all__ = [
    "app",
    "ask",
    "assign",
    "classes",
    "demo",
    "fill",
    "find",
    "learn",
    "look",
    "main",
    "mix",
    "reproduce",
    "weigh",
]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="lacunary")
