"""Forty digits that represent 1,797: choose, measure, draw.

python examples/digits.py    writes digits.png and digits.html
"""

# %% The stream: pictures of 8 x 8 pixels, 256 at a time. A file of a billion rows would be read the same way.
import os

import numpy as np
from sklearn.datasets import load_digits

from modicum import ExemplarClustering, Reservoir, stream
from modicum.plot import exemplar_images, write_report

QUICK = bool(os.environ.get("MODICUM_QUICK"))
X = load_digits().data.astype(np.float32)
X = X[:400] if QUICK else X
k = 10 if QUICK else 40

# %% One pass in half a MiB.
model = ExemplarClustering(k, budget="512 KiB", random_state=0).fit(stream(X, chunk_size=256))
print(model.n_seen_, "rows seen,", model.n_retained_, "kept,", model.nbytes_, "bytes held")


# %% Against as many rows drawn at random: the mean squared distance of all rows to the nearest chosen one.
def distance(rows: np.ndarray) -> float:
    return float(((X[:, None] - rows[None]) ** 2).sum(axis=2).min(axis=1).mean())


chosen = distance(model.exemplars_)
by_chance = np.mean([distance(Reservoir(k, random_state=seed).fit(X).points_) for seed in range(3)])
print(f"squared distance to the nearest exemplar {chosen:.0f}, to the nearest of {k} random rows {by_chance:.0f}")
assert chosen < by_chance

# %% The exemplars as a picture, the one that represents most rows first; and a report to browse.
exemplar_images(model, (8, 8)).savefig("digits.png")
write_report("digits.html", model, source="handwritten digits", image=(8, 8))
print("see digits.png and digits.html")
