"""Every error a user can meet, by name. All are ``ValueError``, so a plain ``except`` works as well."""

__all__ = [
    "ApproximationWarning",
    "BudgetError",
    "FileError",
    "GraphError",
    "ImpossibleRowError",
    "LacunaryError",
    "NoEstimateError",
    "ParameterError",
    "SchemaError",
    "SourceError",
    "StateError",
    "TableError",
    "TooWideError",
]


class LacunaryError(ValueError):
    """Something the caller can put right; the message says what, where, and how.

    Examples
    --------
    >>> import lacunary as lac
    >>> try:
    ...     lac.read({"x": []})
    ... except lac.LacunaryError as problem:
    ...     print(type(problem).__name__)
    TableError
    """


class SchemaError(LacunaryError):
    """Variables that cannot be: a duplicate name, no states, an unknown column.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.dag("party -> crimes", schema=lac.house_votes().schema)
    Traceback (most recent call last):
    ...
    lacunary.errors.SchemaError: crimes is not in the schema (did you mean 'crime'?); ...
    """


class StateError(SchemaError):
    """A value that is none of its variable's declared states.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.asia().query("lung", given={"smoke": "perhaps"})
    Traceback (most recent call last):
    ...
    lacunary.errors.StateError: ...
    """


class TableError(LacunaryError):
    """Data that cannot be used as they are: no rows, bad weights, infinite values.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.read({"x": [1.0, 2.0], "weight": [1.0, -1.0]}, weights="weight")
    Traceback (most recent call last):
    ...
    lacunary.errors.TableError: ...
    """


class GraphError(LacunaryError):
    """Arcs that do not make a directed acyclic graph over the schema.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.dag("A -> B -> A")
    Traceback (most recent call last):
    ...
    lacunary.errors.GraphError: ...
    """


class ParameterError(LacunaryError):
    """Probabilities, priors or settings outside their range.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.Network.from_tables(lac.dag("coin"), {"coin": [0.5, 0.6]})
    Traceback (most recent call last):
    ...
    lacunary.errors.ParameterError: ...
    """


class NoEstimateError(ParameterError):
    """An estimate of the evidence that does not hold for this model and these rows, whatever its options.

    `compare` keeps the other estimates, and says in a line what was refused.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.read({"x": ["a", "a", "a", "b"], "y": ["c", "d", "c", "c"]})
    >>> lac.score("x -> y", rows, "laplace", at="ml")
    Traceback (most recent call last):
    ...
    lacunary.errors.NoEstimateError: ...
    """


class ImpossibleRowError(LacunaryError):
    """A row to which the model gives probability zero.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.asia().query("lung", given={"either": "no", "tub": "yes"})
    Traceback (most recent call last):
    ...
    lacunary.errors.ImpossibleRowError: ...
    """


class SourceError(LacunaryError):
    """Something that needs all rows in one place, asked of a source that has them elsewhere.

    Examples
    --------
    >>> import lacunary as lac, pickle
    >>> found = pickle.loads(pickle.dumps(lac.search(lac.asia().sample(50, rng=0), method="greedy")))
    >>> found.table.align(found.dag.schema)                          # it was pickled without its rows
    Traceback (most recent call last):
    ...
    lacunary.errors.SourceError: ...
    """


class BudgetError(LacunaryError, MemoryError):
    """Something that would need more memory than there is, or than it may take; see `lacunary.memory`.

    Examples
    --------
    >>> import lacunary as lac
    >>> with lac.memory("1 MB"):
    ...     lac.random_network(lac.dag("A B C D E F G H -> I", states=8), rng=0)
    Traceback (most recent call last):
    ...
    lacunary.errors.BudgetError: ...
    """


class TooWideError(BudgetError):
    """Exact inference would need more memory than the budget allows.

    Examples
    --------
    >>> import lacunary as lac
    >>> wide = lac.dag("; ".join(f"A{i} B{j} -> C{i}_{j}" for i in range(40) for j in range(40)))
    >>> seen = {f"C{i}_{j}": 1 for i in range(40) for j in range(40)}
    >>> lac.random_network(wide, rng=0).query("A0", given=seen, exact=True)
    Traceback (most recent call last):
    ...
    lacunary.errors.TooWideError: ...
    """


class FileError(LacunaryError):
    """A file that does not say what its suffix promises, with line and column where they are known.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.write_whole("broken.bif", "network {")
    >>> lac.load("broken.bif")
    Traceback (most recent call last):
    ...
    lacunary.errors.FileError: ...
    """


class ApproximationWarning(UserWarning):
    """Exact inference does not fit, and an approximation with a stated error takes its place.

    Examples
    --------
    >>> import warnings
    >>> import lacunary as lac
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lac.ApproximationWarning)  # rather nothing than that
    ...     answer = lac.asia().query("lung")
    """
