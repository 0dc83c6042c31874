"""Rows of categories: forty that differ most, out of a log in which most lines are alike.

python examples/categorical.py
"""

# %% A log of 20,000 visits with six columns of categories. 30 kinds of visit are common, 30 are rare: one row in 700.
import os

import numpy as np

from modicum import OnlineGreedy, Reservoir, stream
from modicum.kernels import Hamming

QUICK = bool(os.environ.get("MODICUM_QUICK"))
COLUMNS = {
    "browser": ["Firefox", "Chrome", "Safari", "curl", "robot"],
    "system": ["Linux", "Windows", "macOS", "Android", "iOS"],
    "country": ["BR", "CH", "DE", "IN", "JP", "US", "ZA"],
    "method": ["GET", "POST", "HEAD", "PUT"],
    "answer": ["200", "301", "404", "500"],
    "page": ["home", "search", "product", "basket", "login", "admin"],
}
rng = np.random.default_rng(0)
sizes = [len(names) for names in COLUMNS.values()]
kinds = rng.integers(sizes, size=(60, len(sizes)))
n = 4_000 if QUICK else 20_000
rare = rng.random(n) < 30 / 700
kind = np.where(rare, rng.integers(30, 60, n), rng.integers(0, 30, n))
X = kinds[kind]
changed = rng.random(n) < 0.3  # in 30% of the visits one column is random
column = rng.integers(len(sizes), size=n)
X[changed, column[changed]] = rng.integers(np.array(sizes)[column[changed]])

# %% Categories are coded as any numbers. The kernel counts columns that differ: exp(-count / (2 width^2)).
k = 40
model = OnlineGreedy(k, kernel=Hamming(1.0), min_gain=1e-4).fit(stream(X, chunk_size=1000))
print(f"{model.n_seen_:,} rows seen, {model.n_retained_} kept, {model.nbytes_:,} bytes held")
print(f"log-determinant {model.value_:.2f} after {model.n_swaps_} swaps")

# %% A random sample misses rare rows.
by_chance = Reservoir(k, random_state=0).fit(stream(X, chunk_size=1000))
for name, ids in (("prototypes", model.prototype_ids_), ("random rows", by_chance.point_ids_)):
    print(f"{name:12} {rare[ids].sum():3} of {k} are of a rare kind, {len(set(kind[ids]))} kinds in all")
assert rare[model.prototype_ids_].sum() > rare[by_chance.point_ids_].sum()

# %% Some of them, spelled out.
names = list(COLUMNS.values())
for row in model.prototypes_[:8].astype(int):
    print("  " + "  ".join(f"{names[i][value]:7}" for i, value in enumerate(row)).rstrip())
