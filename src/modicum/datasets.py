"""Seeded generators of rows for demonstrations, tests and benchmarks."""

from collections.abc import Iterator

import numpy as np


def mixture(
    n_rows: int, n_columns: int, n_clusters: int, *, chunk_size: int = 50_000, random_state: int = 0
) -> Iterator[np.ndarray]:
    """Chunks of float32 rows from Gaussian clusters of uneven size and spread, made as they are asked for.

    >>> [chunk.shape for chunk in mixture(120, 2, 3, chunk_size=50)]
    [(50, 2), (50, 2), (20, 2)]
    """
    rng = np.random.default_rng(random_state)
    centers = 4 * rng.standard_normal((n_clusters, n_columns), np.float32)
    spread = rng.uniform(0.3, 1.2, n_clusters).astype(np.float32)
    parts = rng.dirichlet(np.ones(n_clusters))
    for start in range(0, n_rows, chunk_size):
        label = rng.choice(n_clusters, min(chunk_size, n_rows - start), p=parts)
        noise = rng.standard_normal((len(label), n_columns), np.float32)
        yield centers[label] + spread[label, None] * noise
