"""Graphs: prototypes by the Weisfeiler-Lehman kernel, and a linear model on the similarities to them.

python examples/graphs.py
"""

# %% Generated molecules: chains of atoms, some closed to a ring, with side atoms. A graph is a pair
# (edges, labels of the nodes).
import os

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from modicum import OnlineGreedy

QUICK = bool(os.environ.get("MODICUM_QUICK"))
rng = np.random.default_rng(0)
Graph = tuple[list[tuple[int, int]], list[str]]


def molecule(ring: bool) -> Graph:
    size = int(rng.integers(5, 9))
    edges = [(i, i + 1) for i in range(size - 1)]
    atoms = rng.choice(["C", "N", "S"], size, p=[0.8, 0.15, 0.05]).tolist()
    if ring:
        edges.append((size - 1, 0))
    for _ in range(int(rng.integers(1, 5))):  # atoms at the side
        edges.append((int(rng.integers(size)), len(atoms)))
        atoms.append(str(rng.choice(["O", "C", "Cl"])))
    return edges, atoms


n = 600 if QUICK else 3000
has_ring = rng.random(n) < 0.5
graphs = [molecule(ring) for ring in has_ring]
train, test = graphs[: n // 2], graphs[n // 2 :]
y_train, y_test = has_ring[: n // 2], has_ring[n // 2 :]

# %% Sixty graphs that differ most. "wl" counts the patterns around atoms that two graphs have in common.
k = 20 if QUICK else 60
model = OnlineGreedy(k, kernel="wl", min_gain=1e-4).fit(train)
print(f"{model.n_seen_:,} graphs seen, {model.n_retained_} kept; log-determinant {model.value_:.1f}")
for edges, atoms in model.prototypes_[:3]:
    print(f"  {len(atoms)} atoms, {len(edges)} bonds: {' '.join(atoms)}")

# %% Similarities to them are features, for any linear model behind them: does the molecule have a ring?
pipeline = make_pipeline(OnlineGreedy(k, kernel="wl", min_gain=1e-4), LogisticRegression(C=100.0, max_iter=2000))
pipeline.fit(train, y_train)
print(f"{pipeline.score(test, y_test):.1%} of {len(test):,} new graphs are classified correctly with {k} prototypes")
assert pipeline.score(test, y_test) > 0.6

# %% The prototypes most similar to a new graph.
similarity = model.transform(test[:3])
for (_, atoms), row in zip(test[:3], similarity, strict=True):
    nearest = int(row.argmax())
    print(f"  {' '.join(atoms)}  is {row[nearest]:.2f} like  {' '.join(model.prototypes_[nearest][1])}")
