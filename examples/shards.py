"""Four shards, learned apart and merged: as good as one pass over everything?

python examples/shards.py
"""

# %% 80,000 rows from 30 clusters, and 20,000 held-out rows.
import os

import numpy as np

from modicum import ExemplarClustering, Learner, stream
from modicum.datasets import mixture

QUICK = bool(os.environ.get("MODICUM_QUICK"))
n = 4_000 if QUICK else 80_000
X = np.concatenate(list(mixture(n + n // 4, n_columns=8, n_clusters=30)))
X, test = X[:n], X[n:]


def judge(model: ExemplarClustering) -> float:
    """Mean squared distance of new rows to the nearest exemplar."""
    return float(model.transform(test).min(axis=1).mean())


# %% Each shard could be on a separate machine: only bytes are sent.
def learn_shard(rows: np.ndarray, first: int, seed: int) -> bytes:
    model = ExemplarClustering(30, n_validation=1000, random_state=seed)
    for chunk in stream(rows, chunk_size=5_000):
        model.partial_fit(chunk.X, row_ids=first + chunk.row_ids)  # names that are unique among all shards
    return model.to_bytes()


shards = [learn_shard(X[first : first + n // 4], first, seed) for seed, first in enumerate(range(0, n, n // 4))]
print("bytes per shard:", [len(shard) for shard in shards])

# %% Merge. The result holds no more than one learner does.
merged, *others = [Learner.from_bytes(shard) for shard in shards]
for other in others:
    merged.merge(other)
assert merged.n_seen_ == n
assert np.array_equal(X[merged.exemplar_ids_], merged.exemplars_)

# %% Against one shard alone and one learner that saw everything.
alone = Learner.from_bytes(shards[0])
whole = ExemplarClustering(30, n_validation=1000, random_state=0).fit(stream(X, chunk_size=5_000))
for name, model in {"one shard": alone, "four merged": merged, "one pass over all": whole}.items():
    print(f"{name:>18}: {judge(model):.2f} over new rows, {model.nbytes_:,} bytes held")
