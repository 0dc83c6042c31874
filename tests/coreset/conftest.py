import numpy as np
import pytest


@pytest.fixture
def rows():
    """Clusters of different size and spread, with weights."""
    rng = np.random.default_rng(0)
    sizes, spread = [150, 60, 30, 9, 1], [1.0, 3.0, 0.1, 0.5, 0.0]
    X = np.concatenate(
        [8 * rng.normal(size=3) + s * rng.normal(size=(n, 3)) for n, s in zip(sizes, spread, strict=True)]
    )
    return X, rng.uniform(0.2, 3, len(X))
