"""Effective dimensions: values known from print and from geometry, and exact brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import ParameterError, TooWideError
from lacunary.infer.network import Network, random_network
from lacunary.maths.prime import Reals
from lacunary.model.dag import Dag
from lacunary.model.make import dag, random_dag
from lacunary.rank import block, generic
from lacunary.rank.dimension import Dimension, dimension
from lacunary.rank.district import blocks
from lacunary.rank.jacobian import Contraction, Evidence

# --- what is known ---------------------------------------------------------------------------------


def classes(children: Sequence[int], states: int) -> Dag:
    """A hidden class with ``states`` states above children with these numbers of states."""
    names = [f"X{i}" for i in range(len(children))]
    return dag(
        f"H -> {' '.join(names)}", states=dict(zip(names, children, strict=True)), hidden={"H": states}
    )


def check(found: Dimension, rank: int, parameters: int) -> None:
    assert (found.rank, found.parameters) == (rank, parameters)
    assert found.doubt is not None
    assert found.doubt < 1e-9  # what the draws are repeated for, with three digits to spare


@pytest.mark.parametrize(("children", "rank"), [(1, 1), (2, 3), (3, 7), (4, 9), (5, 11), (6, 13), (7, 15)])
def test_binary_naive_bayes(children: int, rank: int) -> None:
    """GHM96 section 5."""
    check(dimension(classes([2] * children, 2)), rank, 2 * children + 1)


@pytest.mark.parametrize(("states", "rank"), [(2, 9), (3, 10), (4, 10), (5, 10), (9, 10)])
def test_w_structure(states: int, rank: int) -> None:
    """GHM96 section 5, except that its 11 for five states is wrong.

    C is independent of B given A, D of A given B, A of B: 2 + 2 + 2 + 4 = 10 is the most there can be.
    """
    w = dag("A -> C <- H -> D <- B", hidden={"H": states})
    check(dimension(w), rank, 1 + 1 + (states - 1) + 4 * states)


@pytest.mark.parametrize("children", [3, 4, 5, 6, 7])
def test_binary_latent_classes(children: int) -> None:
    """Secants of products of lines have the expected dimension, but for three classes of four.

    Catalisano, Geramita and Gimigliano, J. Algebraic Geometry 20 (2011): min(k(n + 1) − 1, 2ⁿ − 1), except
    13 for n = 4, k = 3 (13 of 14 in GHM96's terms).
    """
    for k in range(1, 2 ** (children - 1) + 1, 1 if children < 6 else 3):
        rank = 13 if (children, k) == (4, 3) else min(k * (children + 1) - 1, 2**children - 1)
        check(dimension(classes([2] * children, k)), rank, k * (children + 1) - 1)


@pytest.mark.parametrize(("m", "n", "k"), [(2, 2, 2), (3, 3, 2), (3, 4, 2), (4, 5, 3), (6, 5, 4), (3, 5, 7)])
def test_two_children_are_a_matrix_of_bounded_rank(m: int, n: int, k: int) -> None:
    """Matrices of rank ≤ k have dimension k(m + n − k) (Harris, Algebraic Geometry, prop. 12.2)."""
    rank = (k * (m + n - k) if k < min(m, n) else m * n) - 1
    check(dimension(classes([m, n], k)), rank, k - 1 + k * (m + n - 2))


@pytest.mark.parametrize(
    ("children", "k", "rank"),
    [
        ((3, 3, 3), 2, 13),
        ((3, 3, 3), 3, 20),
        ((3, 3, 3), 4, 25),  # a hypersurface: Strassen, Linear Algebra Appl. 52/53 (1983)
        ((3, 3, 3), 5, 26),
        ((3, 5, 5), 7, 73),  # a hypersurface, the same theorem: 3 × n × n, n odd, k = (3n − 1)/2
        ((3, 4, 4), 5, 43),  # one short of 44: Abo, Ottaviani and Peterson, Trans. AMS 361 (2009)
        ((2, 2, 3, 3), 5, 33),  # one short of 34: the same, P¹ × P¹ × Pⁿ × Pⁿ with k = 2n + 1
        ((2, 2, 4), 3, 14),  # unbalanced, a 4 × 4 matrix of rank 3: 3·(4 + 4 − 3) − 1
        (
            (2, 2, 5),
            3,
            17,
        ),  # unbalanced, a 4 × 5 matrix of rank 3: Catalisano et al., J. Algebra 319 (2008)
        # all parameters count where min(k, κ₁) + min(k, κ₂) + min(k, κ₃) ≥ 2k + 2:
        # Allman, Matias and Rhodes, Annals of Statistics 37 (2009), after Kruskal (1977)
        ((4, 4, 4), 5, 49),
        ((2, 3, 4), 3, 20),
        ((5, 5, 5), 6, 77),
    ],
)
def test_latent_classes_as_secants_of_segre_varieties(children: tuple[int, ...], k: int, rank: int) -> None:
    check(dimension(classes(children, k)), rank, k - 1 + k * sum(c - 1 for c in children))


@pytest.mark.parametrize("states", [2, 3, 4])
@pytest.mark.parametrize(
    ("tree", "leaves"),
    [
        ("S -> A B T; T -> C D", 4),
        ("S -> A B T; T -> C U; U -> D E", 5),
        ("S <- T -> U; S -> A B; U -> C D", 4),
    ],
)
def test_markov_models_on_trees(tree: str, leaves: int, states: int) -> None:
    """A trivalent tree with n leaves counts 2n − 3 arcs of κ(κ − 1) each, and a root of κ − 1.

    Allman and Rhodes, Adv. Appl. Math. 40 (2008), after Chang (1996). A hidden variable between two
    others adds nothing (the third tree).
    """
    hidden = [name for name in "STU" if name in tree]
    arcs = leaves + len(hidden) - 1
    rank = states - 1 + (2 * leaves - 3) * states * (states - 1)
    model = dag(tree, states=states, hidden=hidden)
    check(dimension(model), rank, states - 1 + arcs * states * (states - 1))


def test_a_chain_of_ten_hidden_variables() -> None:
    """A tree with ten leaves, its two end links without effect."""
    chain = "; ".join([f"H{i} -> H{i + 1}" for i in range(9)] + [f"H{i} -> X{i}" for i in range(10)])
    check(dimension(dag(chain, hidden=[f"H{i}" for i in range(10)])), 1 + 17 * 2, 1 + 19 * 2)


def test_a_deep_tree_of_hidden_variables() -> None:
    """Sixteen leaves, their fifteen hidden ancestors: 29 arcs without the root, which lies between two."""
    arrows = "; ".join(f"N{i} -> N{2 * i} N{2 * i + 1}" for i in range(1, 16))
    model = dag(arrows, hidden=[f"N{i}" for i in range(1, 16)])
    check(dimension(model), 1 + 29 * 2, 1 + 30 * 2)


@pytest.mark.parametrize(
    ("arrows", "rank"),
    [
        # p(A), p(C | B), then of q(B, D | A, C): q(B | A), q(D | C), and the rest of the 2 × 2 tables
        ("A -> B -> C -> D; H -> B D", 1 + 2 + 2 + 2 + 4),
        # an instrument: p(Z) and all of p(X, Y | Z)
        ("Z -> X -> Y; H -> X Y", 1 + 2 * 3),
        # two hidden causes with an observed variable between: A and C are independent, B is free given them
        ("A <- H -> B <- G -> C", 1 + 1 + 4),
    ],
)
def test_wide_hidden_variables_leave_equalities_only(arrows: str, rank: int) -> None:
    """With enough hidden states the dimension is that of the nested Markov model.

    Evans, Annals of Statistics 46 (2018) 2623. The first is Verma's constraint.
    """
    hidden = {name: 8 for name in "HG" if name in arrows}
    assert dimension(dag(arrows, hidden=hidden)).rank == rank


def test_gaussian_networks() -> None:
    """GHM96 section 7, except that its 12 for W is wrong: three of six covariances are zero."""
    check(dimension(dag("H -> A B C D", kinds="continuous", hidden="H")), 12, 14)
    check(dimension(dag("A -> C <- H -> D <- B", kinds="continuous", hidden="H")), 4 + 4 + 3, 14)


@pytest.mark.parametrize(
    ("factors", "n"), [(1, 2), (1, 3), (1, 5), (2, 4), (2, 5), (2, 6), (3, 6), (3, 7), (3, 8), (4, 12)]
)
def test_factor_analysis(factors: int, n: int) -> None:
    """Covariances of m factors have dimension min(n(m + 1) − m(m − 1)/2, n(n + 1)/2).

    Drton, Sturmfels and Sullivant, Probab. Theory Relat. Fields 138 (2007) 463.
    """
    hidden = [f"F{f}" for f in range(factors)]
    arrows = "; ".join(f"{f} -> {' '.join(f'X{i}' for i in range(n))}" for f in hidden)
    covariances = min(n * (factors + 1) - factors * (factors - 1) // 2, n * (n + 1) // 2)
    model = dag(arrows, kinds="continuous", hidden=hidden)
    check(dimension(model), n + covariances, 2 * (n + factors) + n * factors)


def test_gaussian_instrument_and_bow() -> None:
    """Both are saturated: an instrument identifies the effect, a bow does not, and has one parameter more."""
    check(dimension(dag("Z -> X -> Y; U -> X Y", kinds="continuous", hidden="U")), 3 + 6, 12)
    check(dimension(dag("X -> Y; U -> X Y", kinds="continuous", hidden="U")), 2 + 3, 9)


def test_sigmoid_networks() -> None:
    """GHM96 section 8: two levels 14 of 14, three levels 15 of 17."""
    two = "H -> A B C D; G -> A B C D"
    check(dimension(dag(two, hidden=["H", "G"]), family="sigmoid"), 14, 14)
    check(dimension(dag(f"R -> H G; {two}", hidden=["R", "H", "G"]), family="sigmoid"), 15, 17)
    check(dimension(dag(f"H -> G; {two}", hidden=["H", "G"]), family="sigmoid"), 15, 15)


def test_sixty_four_children() -> None:
    """Too many configurations to list; no defect by Catalisano, Geramita and Gimigliano."""
    check(dimension(classes([2] * 64, 4)), 4 * 65 - 1, 4 * 65 - 1)


def test_wide_observed_families() -> None:
    """One configuration in 150 says anything of a given state of A; a random functional speaks of all.

    p(a): 149, p(b): 1, q(c | a): 150, q(d | b): 2; and p(c, d | a, b) − q(c | a) q(d | b), with two hidden
    states, is a product of something of a and something of b: 150 + 2 − 1.
    """
    model = dag("A -> C <- H -> D <- B", states={"A": 150}, hidden={"H": 2})
    check(dimension(model), 149 + 1 + 150 + 2 + 151, 149 + 1 + 1 + 300 + 4)


# --- brute force -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dual:
    """A number and its derivative, exactly."""

    value: Fraction
    slope: Fraction = Fraction(0)

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def over(self, other: Dual) -> Dual:
        ratio = self.value / other.value
        return Dual(ratio, (self.slope - ratio * other.slope) / other.value)


ONE, ZERO = Dual(Fraction(1)), Dual(Fraction(0))
Tables = dict[tuple[str, tuple[int, ...]], list[Dual]]


def observable(model: Dag, tables: Tables) -> list[Dual]:
    """p(x) of every observable configuration, by adding up all complete ones."""
    sizes = model.schema.sizes
    seen = [i for i, v in enumerate(model.schema) if not v.hidden]
    p: dict[tuple[int, ...], Dual] = {}
    for x in product(*map(range, sizes)):
        term = ONE
        for i, name in enumerate(model.names):
            term = term * tables[name, tuple(x[j] for j in model.parent_indices[i])][x[i]]
        key = tuple(x[i] for i in seen)
        p[key] = p.get(key, ZERO) + term
    return list(p.values())


def leaders(model: Dag) -> dict[str, str]:
    return {name: group[0] for group in model.tied for name in group}


def table_parameters(model: Dag) -> list[tuple[str, tuple[int, ...], int]]:
    """Every free parameter: whose, under which parents, for which state."""
    lead = leaders(model)
    return [
        (name, parents, k)
        for i, name in enumerate(model.names)
        if lead.get(name, name) == name
        for parents in product(*(range(model.schema.sizes[j]) for j in model.parent_indices[i]))
        for k in range(model.schema.sizes[i] - 1)
    ]


def make_tables(model: Dag, values: dict[tuple[str, tuple[int, ...], int], Dual]) -> Tables:
    lead = leaders(model)
    tables: Tables = {}
    for i, name in enumerate(model.names):
        for parents in product(*(range(model.schema.sizes[j]) for j in model.parent_indices[i])):
            free = [values[lead.get(name, name), parents, k] for k in range(model.schema.sizes[i] - 1)]
            last = ONE
            for value in free:
                last = last - value
            tables[name, parents] = [*free, last]
    return tables


def brute_rank(columns: list[list[Fraction]]) -> int:
    rows, rank = [list(c) for c in columns], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] / rows[rank][j]
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def brute_dimension(model: Dag, point: dict[tuple[str, tuple[int, ...], int], Fraction]) -> int:
    columns = []
    for moved in point:
        values = {key: Dual(value, Fraction(int(key == moved))) for key, value in point.items()}
        columns.append([p.slope for p in observable(model, make_tables(model, values))])
    return brute_rank(columns)


def random_point(model: Dag, seed: int) -> dict[tuple[str, tuple[int, ...], int], Fraction]:
    rng = np.random.default_rng(seed)
    keys = table_parameters(model)
    return {key: Fraction(int(rng.integers(1, 1000)), 4001) for key in keys}  # at most three states a table


def random_hidden(seed: int) -> Dag:
    """A random graph of four to six small variables, some hidden."""
    rng = np.random.default_rng(seed)
    graph = random_dag(int(rng.integers(3, 6)), 0.6, max_parents=2, states=(2, 3), rng=rng)
    hide = rng.choice(len(graph.names), size=int(rng.integers(1, 3)), replace=False)
    return Dag(graph.schema.hide(graph.names[i] for i in hide), graph.parents)


@pytest.mark.parametrize("seed", range(25))
def test_against_fractions(seed: int) -> None:
    model = random_hidden(seed)
    found = dimension(model, rng=seed)
    assert found.rank == brute_dimension(model, random_point(model, seed))
    assert found.parameters == len(table_parameters(model))


TIED = [
    ("A -> B -> C -> D", [["B", "C", "D"]], ""),
    ("H1 -> H2 -> H3; H1 -> A; H2 -> B; H3 -> C", [["H2", "H3"], ["A", "B", "C"]], "H1 H2 H3"),
    ("H -> A B; G -> C D", [["A", "B"], ["C", "D"]], "H G"),
    ("H -> A B; G -> C D", [["A", "C"], ["B", "D"], ["H", "G"]], "H G"),
    ("H -> A B C; G -> D E", [["A", "D"], ["B", "E"]], "H G"),
    ("H -> A B C; X; Y", [["X", "Y"]], "H"),
    ("H -> A B C; X", [["X", "H"]], "H"),
]


@pytest.mark.parametrize(("arrows", "tied", "hidden"), TIED)
def test_tied_tables_against_fractions(arrows: str, tied: list[list[str]], hidden: str) -> None:
    model = dag(arrows, hidden=hidden.split(), tied=tied)
    found = dimension(model)
    assert found.rank == brute_dimension(model, random_point(model, 1))
    assert found.parameters == len(table_parameters(model))


def sigmoid_tables(model: Dag, weights: dict[tuple[str, int], Dual]) -> Tables:
    tables: Tables = {}
    for i, name in enumerate(model.names):
        for parents in product(range(2), repeat=len(model.parent_indices[i])):
            odds = weights[name, 0]
            for place, x in enumerate(parents):
                odds = odds * (weights[name, place + 1] if x else ONE)
            tables[name, parents] = [ONE.over(ONE + odds), odds.over(ONE + odds)]
    return tables


@pytest.mark.parametrize("seed", range(12))
def test_sigmoid_against_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_dag(5, 0.6, max_parents=3, states=2, rng=rng)
    hide = rng.choice(5, size=int(rng.integers(1, 3)), replace=False)
    model = Dag(graph.schema.hide(graph.names[i] for i in hide), graph.parents)
    keys = [(name, k) for name in model.names for k in range(len(model.parents_of(name)) + 1)]
    point = {key: Fraction(int(rng.integers(1, 30)), int(rng.integers(1, 30))) for key in keys}
    columns = []
    for moved in keys:
        weights = {key: Dual(value, Fraction(int(key == moved))) for key, value in point.items()}
        columns.append([p.slope for p in observable(model, sigmoid_tables(model, weights))])
    found = dimension(model, family="sigmoid")
    assert (found.rank, found.parameters) == (brute_rank(columns), len(keys))


def moments(model: Dag, point: Sequence[Dual], starts: Sequence[int]) -> list[Dual]:
    """Observable means and covariances of a Gaussian network, variable by variable."""
    mean: dict[int, Dual] = {}
    cov: dict[tuple[int, int], Dual] = {}
    for i in model.order_indices:
        b = [(j, point[starts[i] + 2 + k]) for k, j in enumerate(model.parent_indices[i])]
        mean[i] = sum((c * mean[j] for j, c in b), start=point[starts[i]])
        for other in list(mean)[:-1]:
            cov[i, other] = cov[other, i] = sum((c * cov[j, other] for j, c in b), start=ZERO)
        cov[i, i] = sum((c * cov[j, i] for j, c in b), start=point[starts[i] + 1])
    seen = [i for i, v in enumerate(model.schema) if not v.hidden]
    return [mean[i] for i in seen] + [cov[i, j] for i in seen for j in seen if i <= j]


@pytest.mark.parametrize("seed", range(20))
def test_gaussian_against_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_dag(6, 0.5, states=2, rng=rng)
    hide = set(rng.choice(6, size=int(rng.integers(0, 4)), replace=False).tolist())
    schema = Schema(
        tuple(Variable(n, kind="continuous", hidden=i in hide) for i, n in enumerate(graph.names))
    )
    pair = [n for n, ps in zip(graph.names, graph.parents, strict=True) if len(ps) == 1][:2]
    model = Dag(schema, graph.parents, (tuple(pair),) if seed % 2 and len(pair) == 2 else ())
    lead, starts, size = leaders(model), dict[str, int](), 0
    for name in model.names:
        if lead.get(name, name) == name:
            starts[name], size = size, size + 2 + len(model.parents_of(name))
    point = [Fraction(int(rng.integers(1, 1000))) for _ in range(size)]
    places = [starts[lead.get(name, name)] for name in model.names]
    columns = []
    for moved in range(size):
        dual = [Dual(x, Fraction(int(k == moved))) for k, x in enumerate(point)]
        columns.append([m.slope for m in moments(model, dual, places)])
    found = dimension(model)
    assert (found.rank, found.parameters) == (brute_rank(columns), size)


# --- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_bounds(seed: int) -> None:
    model = random_hidden(1000 + seed)
    found = dimension(model)
    assert found.rank <= found.parameters
    assert found.rank <= prod(v.size for v in model.schema if not v.hidden) - 1


@pytest.mark.parametrize("seed", range(10))
def test_nothing_hidden_leaves_every_parameter(seed: int) -> None:
    model = random_dag(12, 0.3, max_parents=3, rng=seed)
    found = dimension(model)
    assert found.rank == found.parameters == model.layout.free
    assert found.doubt == 0.0
    sigmoid = random_dag(12, 0.3, max_parents=3, states=2, rng=seed)
    assert dimension(sigmoid, family="sigmoid").rank == 12 + len(sigmoid.arcs)
    gaussian = Dag(Schema(tuple(Variable(n, kind="continuous") for n in model.names)), model.parents)
    assert dimension(gaussian).rank == 2 * 12 + len(model.arcs)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_variables_does_not_matter(seed: int) -> None:
    model = random_hidden(2000 + seed)
    order = np.random.default_rng(seed).permutation(len(model.names))
    schema = Schema(tuple(model.schema.variables[i] for i in order))
    parents = {name: model.parents_of(name)[::-1] for name in model.names}
    assert dimension(Dag.from_parents(schema, parents)).rank == dimension(model).rank


@pytest.mark.parametrize(
    "pair", [("H -> A B C; A -> B", "A -> H B; H -> B C"), ("H -> A B C", "A -> H -> B C")]
)
def test_equivalent_graphs_have_equal_dimension(pair: tuple[str, str]) -> None:
    """They make the same distributions of all variables, so also of the observed ones."""
    states = {"A": 2, "B": 3, "C": 2}
    ranks = {dimension(dag(arrows, states=states, hidden={"H": 3})).rank for arrows in pair}
    assert len(ranks) == 1


@pytest.mark.parametrize("seed", range(20))
def test_fixed_variables_find_the_same_rank(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sums would be too wide, observed variables are fixed at random states instead."""
    model = random_hidden(seed)
    soft = dimension(model)
    monkeypatch.setattr(block, "AFFORDABLE", 0)
    monkeypatch.setattr(block, "SPARE", 0)
    fixed = dimension(model)
    assert fixed.rank == soft.rank
    assert fixed.doubt in (0.0, None)


def test_a_confounder_of_a_dense_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty variables with arcs near and far: too wide to sum over them, but the confounder is alone."""
    count = 30
    arcs = [(f"X{j}", f"X{i}") for i in range(count) for j in (i - 1, i - 7, i // 3) if 0 <= j < i]
    schema = Schema((*(Variable(f"X{i}", (0, 1)) for i in range(count)), Variable("H", (0, 1), hidden=True)))
    model = Dag.from_arcs(schema, [*dict.fromkeys(arcs), *(("H", f"X{i}") for i in range(count))])
    monkeypatch.setattr(block, "AFFORDABLE", 2**18)
    found = dimension(model)
    assert found.rank == found.parameters  # reached, and no rank is larger
    assert found.doubt == 0.0


def test_hidden_variables_nothing_observed_hangs_on() -> None:
    found = dimension(dag("A -> B -> H -> G", hidden=["H", "G"]))
    assert (found.rank, found.parameters) == (3, 7)
    assert dimension(dag("H -> G", hidden=["H", "G"])).rank == 0


def test_single_states() -> None:
    """A variable with one state carries nothing, hidden or not."""
    check(dimension(dag("H -> A B; G -> A", states={"B": 1}, hidden={"H": 2, "G": 1})), 1, 1 + 2)
    check(dimension(dag("H -> A B C", hidden={"H": 1})), 3, 3)


def test_districts() -> None:
    """W with A and B apart, and a family without hidden variables on its own."""
    model = dag("A -> C <- H -> D <- B; C -> E", hidden="H")
    found = {tuple(model.names[i] for i in d.families) for group in blocks(model) for d in group}
    assert found == {("A",), ("B",), ("E",), ("H", "C", "D")}
    (middle,) = (d for group in blocks(model) for d in group if d.hidden)
    assert [model.names[i] for i in middle.given] == ["A", "B"]
    assert {model.names[i] for i in middle.made} == {"C", "D"}


# --- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_slopes_are_differences(seed: int) -> None:
    """F is linear in each entry of each table, so a difference quotient is exact but for rounding."""
    model = random_hidden(3000 + seed)
    rng = np.random.default_rng(seed)
    for (district,) in blocks(model):
        soft = frozenset(i for i in district.observed if rng.random() < 0.5)
        contraction = Contraction(district, model.layout, soft)
        sizes = model.schema.sizes
        evidence = Evidence(
            5,
            {i: rng.random((sizes[i], 5)) for i in soft},
            {i: rng.integers(0, sizes[i], 5) for i in contraction.fixed},
        )
        tables = [
            rng.random((model.layout.states[i], model.layout.configurations[i])) for i in district.families
        ]
        values, slopes = contraction.slopes(Reals(), tables, evidence)
        for table, slope in zip(tables, slopes, strict=True):
            for entry in np.ndindex(*table.shape):
                table[entry] += 1.0
                moved, _ = contraction.slopes(Reals(), tables, evidence)
                table[entry] -= 1.0
                # values reach the number of terms, a few thousand: rounding is 1e-12 of that
                np.testing.assert_allclose(moved - values, slope[entry], rtol=1e-9, atol=1e-9)


# --- at given parameters ---------------------------------------------------------------------------


def network_at(model: Dag, point: dict[tuple[str, tuple[int, ...], int], Fraction]) -> Network:
    tables = make_tables(model, {key: Dual(value) for key, value in point.items()})
    shaped = {}
    for i, name in enumerate(model.names):
        shape = tuple(model.schema.sizes[j] for j in (*model.parent_indices[i], i))
        shaped[name] = np.array(
            [[float(d.value) for d in row] for (n, _), row in tables.items() if n == name]
        ).reshape(shape)
    return Network.from_tables(model, shaped)


@pytest.mark.parametrize("seed", range(20))
def test_at_a_random_point_the_rank_is_generic(seed: int) -> None:
    model = random_hidden(4000 + seed)
    found = dimension(model, at=random_network(model, rng=seed))
    assert found.rank == dimension(model).rank
    assert found.gap is not None
    assert found.gap > 1e3  # small singular values of random networks are far above rounding
    assert found.singular_values is not None
    assert np.all(np.diff(found.singular_values) <= 0)


@pytest.mark.parametrize(("arrows", "tied", "hidden"), TIED)
def test_at_a_point_of_tied_tables(arrows: str, tied: list[list[str]], hidden: str) -> None:
    model = dag(arrows, hidden=hidden.split(), tied=tied)
    point = random_point(model, 2)
    assert dimension(model, at=network_at(model, point)).rank == brute_dimension(model, point)


@pytest.mark.parametrize("children", [3, 4])
def test_at_merged_classes_the_rank_falls(children: int) -> None:
    """Where two classes agree, their weights do not matter, and of each child one direction is left."""
    model = classes([2] * children, 2)
    point = random_point(model, 5)
    for name in model.names[1:]:
        point[name, (1,), 0] = point[name, (0,), 0]
    found = dimension(model, at=network_at(model, point))
    assert found.rank == brute_dimension(model, point) == children
    assert found.parameters == 2 * children + 1
    assert found.gap is not None
    assert found.gap > 1e6


def test_at_zeros() -> None:
    """Probabilities of zero are points like others, if singular ones."""
    model = classes([2, 2, 2], 2)
    point = random_point(model, 6)
    point["X0", (0,), 0] = Fraction(0)
    assert dimension(model, at=network_at(model, point)).rank == brute_dimension(model, point)


def test_at_more_configurations_than_can_be_listed() -> None:
    model = classes([2] * 14, 3)
    found = dimension(model, at=random_network(model))
    assert found.rank == found.parameters == 3 * 15 - 1
    assert found.gap == np.inf


def test_at_counts_observed_families_in_full() -> None:
    model = dag("A -> C <- H -> D <- B; C -> E", hidden={"H": 3})
    found = dimension(model, at=random_network(model))
    assert found.rank == 10 + 2
    assert found.singular_values is not None
    assert len(found.singular_values) == 2 + 4 * 3  # H, C and D


# --- asking wrongly --------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_answer() -> None:
    model = random_hidden(7)
    assert dimension(model, rng=3).doubt == dimension(model, rng=np.random.default_rng(3)).doubt


def test_text() -> None:
    assert str(dimension(dag("A -> C <- H -> D <- B", hidden="H"))) == "rank 9, parameters 11"


def test_families_that_do_not_fit_are_refused() -> None:
    model = dag("H -> A B", states={"A": 3}, hidden="H")
    with pytest.raises(ParameterError, match="'probit' is not known"):
        dimension(model, family="probit")
    with pytest.raises(ParameterError, match="A: a sigmoid family needs"):
        dimension(model, family="sigmoid")
    assert dimension(model, family={"B": "sigmoid"}).rank == dimension(model).rank
    with pytest.raises(ParameterError, match="tied variables need one family"):
        dimension(dag("H -> A B", hidden="H", tied=[["A", "B"]]), family={"A": "sigmoid"})
    with pytest.raises(ParameterError, match="discrete networks"):
        dimension(dag("H -> A B", kinds="continuous", hidden="H"), family="sigmoid")


def test_networks_of_other_graphs_are_refused() -> None:
    other = random_network(dag("H -> A B", hidden="H"))
    with pytest.raises(ParameterError, match="same graph"):
        dimension(dag("H -> A B C", hidden="H"), at=other)
    with pytest.raises(ParameterError, match="leave out family"):
        dimension(other.dag, at=other, family="sigmoid")


def refused(most: int, needed: float, what: str, advice: str, kind: type[TooWideError]) -> None:
    if needed > most:
        raise kind(f"{what} would need {needed}; {advice}")


def test_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "reserve", partial(refused, 1000))
    with pytest.raises(TooWideError, match="Jacobian of 9 parameters"):
        dimension(classes([2] * 4, 2))
    monkeypatch.setattr(block, "reserve", partial(refused, 2**20))
    wide = dag("; ".join(f"H{i} -> X" for i in range(18)), hidden=[f"H{i}" for i in range(18)])
    with pytest.raises(TooWideError, match="hidden variables of a row would need"):
        dimension(wide)


def test_rounding_is_not_taken_for_a_dimension() -> None:
    """One binary variable has one dimension; classes nearly alike leave a column of rounding errors."""
    model = dag("H -> X", hidden="H")
    for seed in range(200):
        assert dimension(model, at=random_network(model, rng=seed)).rank == 1


def test_at_given_parameters_the_rank_is_never_above_the_generic_one() -> None:
    """A hidden parent of a binary child whose own child is constant: one dimension."""
    hidden = [Variable("A", ("0", "1"), hidden=True), Variable("B", ("0", "1", "2"), hidden=True)]
    schema = Schema((*hidden, Variable("C", ("0", "1")), Variable("D", ("0",))))
    graph = Dag(schema, ((), (), ("B",), ("A", "C")))
    for seed in (3, 56):  # with 56 a second singular value is 1e-13, above its bound on rounding
        assert dimension(graph, at=random_network(graph, rng=seed)).rank == 1
