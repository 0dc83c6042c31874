"""Principal axes against all columns: the same distances and the same models, in fewer coordinates."""

import numpy as np
import pytest
import scipy.sparse as sp

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.principal_axes import PrincipalAxes

RNG = np.random.default_rng(0)


def of_variance_one(rows):
    return rows / np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 7), (20, 50)], ids=["tall", "wide"])
def test_distances_and_models_stay(shape, kind):
    rows, shares = of_variance_one(3.0 + RNG.normal(size=shape)), RNG.dirichlet(np.ones(shape[0]))
    axes = PrincipalAxes.of(kind(rows), shares)
    found = axes.coordinates(kind(rows))
    assert axes.axes.T @ axes.axes == pytest.approx(np.eye(found.shape[1]), abs=1e-8)
    assert shares @ found == pytest.approx(np.zeros(found.shape[1]), abs=1e-8)
    centered = rows - shares @ rows
    assert found @ found.T == pytest.approx(centered @ centered.T, abs=1e-3)
    model = Multilogit(RNG.normal(size=(found.shape[1], 3)), RNG.normal(size=3))
    assert axes.restored(model).log_proba(rows) == pytest.approx(model.log_proba(found), abs=1e-8)


def test_axes_without_variance_are_dropped():
    rows = of_variance_one(RNG.normal(size=(200, 3)) @ RNG.normal(size=(3, 30)) + 1e-5 * RNG.normal(size=(200, 30)))
    assert PrincipalAxes.of(rows, np.full(200, 1 / 200)).axes.shape == (30, 3)


@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (2, 5)])
def test_constant_rows_keep_one_axis(shape):
    rows = np.ones(shape)
    axes = PrincipalAxes.of(rows, np.full(shape[0], 1 / shape[0]))
    assert np.allclose(axes.coordinates(rows), 0.0, atol=1e-8)
