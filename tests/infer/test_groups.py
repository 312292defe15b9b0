"""Childless variables with the same parents are laid out together: the same numbers as one by one."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.pack import pack
from lacunary.infer.places import Places
from lacunary.kernels.places import join, part


def network(seed: int) -> lac.Network:
    """A hidden class and an observed one with children of 2 to 4 states; one of these has a child itself."""
    rng = np.random.default_rng(seed)
    sizes = [3, 2, *rng.integers(2, 5, 9).tolist(), 2]
    schema = lac.Schema(
        tuple(lac.Variable(f"x{i}", tuple(range(size)), hidden=i == 0) for i, size in enumerate(sizes))
    )
    parents = {f"x{i}": ["x0"] if i < 7 else ["x0", "x1"] for i in range(2, 11)}
    return lac.random_network(lac.Dag.from_parents(schema, {**parents, "x11": ["x10"]}), rng=seed)


def both(seed: int, rows: int = 600, holes: float = 0.3) -> tuple[lac.Network, DiscreteRows, DiscreteRows]:
    truth = network(seed)
    table = lac.make_holes(lac.hide(truth.sample(rows, rng=seed), ["x0"]), holes, rng=seed)
    weights = np.random.default_rng(seed).random(rows)

    def laid(grouped: bool) -> DiscreteRows:
        packed = pack(truth.dag, table.codes, weights, grouped=grouped)
        return DiscreteRows(truth.dag, packed, np.arange(rows), float(weights.sum()))

    together, alone = laid(True), laid(False)
    assert together.packed.recipe.places.groups
    assert not alone.packed.recipe.places.groups
    return truth, together, alone


def vectors(truth: lac.Network, many: int, kind: str) -> Any:
    theta = np.array([lac.random_network(truth.dag, rng=k).theta for k in range(many)])
    if kind == "potentials":  # as in variational Bayes: they sum to less than one, and some are zero
        theta = theta**1.5
        theta[:, ::7] = 0.0
    return theta * (1.0 + 1e-20j) if kind == "complex" else theta


@pytest.mark.parametrize("kind", ["probabilities", "potentials", "complex"])
@pytest.mark.parametrize("many", [1, 3, 8])
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_groups_count_what_variables_count_one_by_one(kind: str, many: int, holes: float) -> None:
    truth, together, alone = both(many, holes=holes)
    theta = vectors(truth, many, kind)
    one, other = together.expect(theta), alone.expect(theta)
    assert np.allclose(one.counts, other.counts, rtol=1e-12, atol=1e-300)
    assert np.allclose(one.log_likelihood, other.log_likelihood, rtol=1e-13)
    assert np.allclose(together.log_evidence(theta), alone.log_evidence(theta), rtol=1e-12)
    if kind == "complex":
        assert np.allclose(one.counts.imag, other.counts.imag, rtol=1e-10, atol=1e-32)


def test_small_counts_keep_their_digits() -> None:
    """A state that is all but impossible given a class is counted as precisely as by itself."""
    truth, together, alone = both(5)
    theta = truth.theta.copy()
    layout = truth.dag.layout
    for i in range(2, 7):
        table = layout.states_first(theta[None], i)[0]
        table[1:, 0] *= 1e-30
        table[0, 0] = 1.0
    one, other = together.expect(theta[None]).counts, alone.expect(theta[None]).counts
    assert (other[other > 0] < 1e-25).any()
    assert np.allclose(one, other, rtol=1e-11, atol=0.0)


def test_other_weights_and_what_rows_show() -> None:
    truth, together, alone = both(2)
    assert np.allclose(together.observed, alone.observed, rtol=1e-13)
    weights = np.random.default_rng(9).random(len(together))
    one, other = together.weighed(weights), alone.weighed(weights)
    assert np.allclose(one.observed, other.observed, rtol=1e-13)
    assert np.allclose(
        one.expect(truth.theta[None]).counts, other.expect(truth.theta[None]).counts, rtol=1e-12
    )


def test_products_that_vanish_are_nothing_to_rows_that_do_not_hang_on_them() -> None:
    """Every row has a class under which it is likely; nothing is laid out again, and nothing is lost."""
    truth, together, alone = both(6)
    theta = truth.theta.copy()
    for i in range(2, 7):
        table = truth.dag.layout.states_first(theta[None], i)[0]
        table[:-1, 0], table[-1, 0] = 1e-150, 1.0
    assert not together.packed.recipe.places.taken(theta[None])[1]
    one, other = together.expect(theta[None]), alone.expect(theta[None])
    assert "alone" not in together.__dict__
    tiny = other.counts < 1e-250  # of products below the smallest number, digits are left to neither
    assert (other.counts[~tiny] < 1e-100).any()
    assert np.allclose(one.counts[~tiny], other.counts[~tiny], rtol=1e-11, atol=0.0)
    assert np.all(one.counts[tiny] < 1e-249)
    assert np.allclose(one.log_likelihood, other.log_likelihood, rtol=1e-13)
    assert np.allclose(together.log_evidence(theta[None]), alone.log_evidence(theta[None]), rtol=1e-12)
    assert "alone" not in together.__dict__


def test_products_that_would_vanish_are_not_made() -> None:
    truth, together, alone = both(3)
    theta = truth.theta.copy()
    for i in range(2, 7):
        truth.dag.layout.states_first(theta[None], i)[0][-1] = 1e-200
    for one, other in ((copy.deepcopy(together), alone), (pickle.loads(pickle.dumps(together)), alone)):
        found, expected = one.expect(theta[None]), other.expect(theta[None])
        assert np.array_equal(found.counts, expected.counts)
        assert np.array_equal(found.log_likelihood, expected.log_likelihood)
        assert np.array_equal(one.log_evidence(theta[None]), other.log_evidence(theta[None]))
        assert "alone" in one.__dict__
        assert len(pickle.dumps(one)) < 1.1 * len(pickle.dumps(together))


def test_kernels_multiply_and_add_up_as_numpy_does() -> None:
    truth = network(4)
    summed = np.arange(12) % 2 == 1
    places = Places(truth.dag.layout, summed, ((2, 3, 4), (8, 9)))
    wide = places.widened(truth.theta[None])
    assert places.join(wide)
    states = [n + int(more) for n, more in zip(truth.dag.layout.states, summed, strict=True)]
    tables = {
        i: wide[0, places.start[i] :][: states[i] * q].reshape(states[i], q)
        for i, q in _configurations(truth)
    }
    product = np.einsum("aq,bq,cq->abcq", tables[2], tables[3], tables[4])
    at = places.factors[-2][2]
    assert np.allclose(wide[0, at : at + product.size], product.ravel(), rtol=1e-15)
    counts = np.zeros_like(wide)
    some = np.random.default_rng(0).random(product.shape)
    counts[0, at : at + some.size] = some.ravel()
    part(counts, places._joined[0])
    for i, axes in ((2, (1, 2)), (3, (0, 2)), (4, (0, 1))):
        found = counts[0, places.start[i] :][: states[i] * some.shape[-1]]
        assert np.allclose(found, some.sum(axis=axes).ravel(), rtol=1e-14)
    wide[0, places.start[2]] = 1e-300
    assert not join(wide, places._joined[0])


def _configurations(truth: lac.Network) -> list[tuple[int, int]]:
    return list(enumerate(truth.dag.layout.configurations))


def test_few_rows_many_states_and_ties_stay_alone() -> None:
    truth = network(0)
    table = lac.hide(truth.sample(50, rng=0), ["x0"])
    assert not pack(truth.dag, table.codes, table.weights).recipe.places.groups
    more = lac.hide(truth.sample(5000, rng=0), ["x0"])
    groups = pack(truth.dag, more.codes, more.weights).recipe.places.groups
    states = [truth.dag.schema.sizes[i] for i in range(12)]  # no cell is empty, so no sum is a state more
    assert math.prod(states[2:6]) <= 128 < math.prod(states[2:7])  # the most products: 6 is left over
    assert groups == ((2, 3, 4, 5), (7, 8, 9))
    few = pack(truth.dag, more.codes[:100], more.weights[:100]).recipe.places.groups
    assert few
    assert max(map(max, few)) < 7  # of the others' tables a row meets half: they would be large for so few
    assert not pack(truth.dag, more.codes, more.weights, whole=True).recipe.places.groups
    assert not pack(truth.dag, more.codes, more.weights, targets=[(0,)]).recipe.places.groups
