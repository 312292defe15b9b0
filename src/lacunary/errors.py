"""Every error a user can meet, by name. All are ``ValueError``, so a plain ``except`` works as well."""

__all__ = [
    "BudgetError",
    "FileError",
    "GraphError",
    "ImpossibleRowError",
    "LacunaryError",
    "ParameterError",
    "SchemaError",
    "SourceError",
    "StateError",
    "TableError",
    "TooWideError",
]


class LacunaryError(ValueError):
    """Something the caller can put right; the message says what, where, and how."""


class SchemaError(LacunaryError):
    """Variables that cannot be: a duplicate name, no states, an unknown column."""


class StateError(SchemaError):
    """A value that is none of its variable's declared states."""


class TableError(LacunaryError):
    """Data that cannot be used as they are: no rows, bad weights, infinite values."""


class GraphError(LacunaryError):
    """Arcs that do not make a directed acyclic graph over the schema."""


class ParameterError(LacunaryError):
    """Probabilities, priors or settings outside their range."""


class ImpossibleRowError(LacunaryError):
    """A row to which the model gives probability zero."""


class SourceError(LacunaryError):
    """Something that needs all rows in one place, asked of a source that has them elsewhere."""


class BudgetError(LacunaryError, MemoryError):
    """Something that would need more memory than there is, or than it may take; see `lacunary.memory`."""


class TooWideError(BudgetError):
    """Exact inference would need more memory than the budget allows."""


class FileError(LacunaryError):
    """A file that does not say what its suffix promises, with line and column where they are known."""
