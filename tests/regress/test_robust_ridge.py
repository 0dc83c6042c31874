"""Ridge regression with outliers: rows count by the weights at which Student's t likelihood has its maximum."""

import numpy as np
import pytest

from modicum import PrototypeRegressor
from modicum.regress.ridge import solve_ridge
from modicum.regress.robust_ridge import solve_robust_ridge
from modicum.regress.tails import fit_freedom, tail_scale, tail_weights


def problem(outliers, n=300, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 4))
    y = features @ [1.0, -2.0, 0.5, 3.0] + 0.1 * rng.normal(size=n)
    y[:outliers] += 100 * rng.normal(size=outliers)
    return features, np.eye(4), y, rng.uniform(0.5, 1.5, size=n)


@pytest.mark.parametrize("outliers", [3, 30, 60])
def test_outliers_lose_their_weight(outliers):
    features, K, y, weight = problem(outliers)
    found, own = solve_robust_ridge(features, K, y, weight, 1e-6, False)
    assert np.abs(found.coef - [1.0, -2.0, 0.5, 3.0]).max() < 0.05
    assert np.median(own[:outliers]) < 0.01
    assert np.mean(own[outliers:] > 0.1) > 0.97


def test_the_weights_are_a_fixed_point():
    features, K, y, weight = problem(30)
    found, own = solve_robust_ridge(features, K, y, weight, 1e-6, False)
    squares = (y - features @ found.coef - found.intercept) ** 2
    freedom, _ = fit_freedom(squares)
    np.testing.assert_allclose(own, tail_weights(squares, freedom, tail_scale(squares, freedom)), rtol=0.03)
    again = solve_ridge(features, K, y, weight * own, 1e-6, False)
    np.testing.assert_allclose(found.coef, again.coef, rtol=1e-3)


def test_errors_of_zero_are_no_problem():
    features, K, _, weight = problem(0)
    found, own = solve_robust_ridge(features, K, np.zeros(300), weight, 1e-6, False)
    assert (found.coef == 0).all()
    assert np.isfinite(own).all()


class TestPrototypes:
    def rows(self, share=0.05):
        rng = np.random.default_rng(0)
        X = rng.uniform(-3, 3, size=(600, 2))
        clean = np.sin(X[:, 0])
        return X, clean, clean + np.where(rng.random(600) < share, 30 * rng.normal(size=600), 0)

    def test_outliers_neither_count_nor_are_chosen(self):
        X, clean, y = self.rows()
        robust, plain = (
            PrototypeRegressor(n_prototypes=15, robust=robust, random_state=0).fit(X, y) for robust in (True, False)
        )
        assert np.abs(robust.predict(X) - clean).max() < 0.1
        assert np.abs(plain.predict(X) - clean).max() > 1.0
        assert np.abs(robust.picks().targets).max() < 1.1

    def test_it_goes_on_after_saving(self):
        X, _, y = self.rows()
        model = PrototypeRegressor(n_prototypes=5, robust=True, random_state=0).partial_fit(X[:300], y[:300])
        again = PrototypeRegressor.from_bytes(model.to_bytes()).partial_fit(X[300:], y[300:])
        assert again.to_bytes() == model.partial_fit(X[300:], y[300:]).to_bytes()
        assert again._landmarks.weight == 600

    def test_prototypes_alone_can_not_be_robust(self):
        from modicum import OnlineGreedy

        X, _, y = self.rows()
        with pytest.raises(ValueError, match='robust=True is for fit_on="sample"'):
            PrototypeRegressor(OnlineGreedy(5), fit_on="prototypes", robust=True).fit(X, y)
