"""Digits without labels, then with a few: clusters of a stream, the most uncertain rows, and labels for these.

python examples/rim_digits.py    writes rim_digits.mcm
"""

# %% The stream: pictures of 8 x 8 pixels, 200 at a time. Nobody says which digits they are.
import os

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from modicum import RIM, StreamKMeans, load, stream

QUICK = bool(os.environ.get("MODICUM_QUICK"))
X, digits = load_digits(return_X_y=True)
X, digits = (X[:600], digits[:600]) if QUICK else (X, digits)

# %% One pass, and ten clusters: by boundaries in the pixels, and by those in a graph of neighbours.
kmeans = StreamKMeans(10, random_state=0).fit(stream(X, chunk_size=200))
linear = RIM(n_clusters=10, random_state=0).fit(stream(X, chunk_size=200))
graph = RIM(n_clusters=10, features="diffusion", random_state=0).fit(stream(X, chunk_size=200))
for name, model in {"k-means": kmeans, "RIM": linear, "RIM, diffusion": graph}.items():
    print(f"{name:>15}: adjusted Rand index {adjusted_rand_score(digits, model.predict(X)):.2f}")
assert adjusted_rand_score(digits, graph.predict(X)) > adjusted_rand_score(digits, kmeans.predict(X))

# %% What is in the clusters? Look at three typical rows of each.
for number, picks in enumerate(graph.typical(3)):
    share = f"{graph.weights_[number]:.0%}"
    print(f"cluster {number}: {share:>4} of the rows, such as {', '.join(str(digits[row]) for row in picks.ids)}")

# %% Rows between clusters are the ones that it gets wrong.
entropy = graph.conditional_entropy(X)
names = np.array([np.bincount(digits[graph.predict(X) == k]).argmax() for k in range(graph.n_clusters_)])
wrong = names[graph.predict(X)] != digits
print(
    f"mean entropy {entropy[~wrong].mean():.2f} of rows in their digit's cluster, {entropy[wrong].mean():.2f} of others"
)
assert entropy[wrong].mean() > entropy[~wrong].mean()


# %% Label two typical rows of each cluster and the ten most uncertain rows of all. Clusters now have names.
def with_labels(rows: np.ndarray) -> np.ndarray:
    y = np.full(len(X), -1)
    y[rows] = digits[rows]
    return y


asked = np.unique(np.concatenate([picks.ids for picks in [*graph.typical(2), graph.uncertain(10)]]))
alone = RIM(tau=0.0, random_state=0).fit(X, with_labels(asked))
both = RIM(features="diffusion", random_state=0).fit(X, with_labels(asked))
rest = np.setdiff1d(np.arange(len(X)), asked)
by_labels, by_both = ((model.predict(X[rest]) == digits[rest]).mean() for model in (alone, both))
print(
    f"{len(asked)} labels: {by_labels:.0%} of the others are correct by the labels alone, {by_both:.0%} with all rows"
)
assert by_both > by_labels

# %% Save, load, and learn on: labels may come with any chunk.
both.save("rim_digits.mcm")
later = load("rim_digits.mcm").partial_fit(X[-50:], digits[-50:])
print(f"after {later.n_seen_:,} rows the last one is a {later.predict(X[-1:])[0]}; it was a {digits[-1]}")
