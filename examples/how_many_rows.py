"""How many rows do I need? Clusters of a stream, and the data, memory and time that a given risk takes.

python examples/how_many_rows.py    writes how_many_rows.png
"""

# %% A stream from 60 clusters, made as it is read. A few clusters have most of the rows; others are rare.
import os
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from modicum import StreamKMeans, Tram
from modicum.plot import risk_by_points
from modicum.tradeoff import tradeoff

QUICK = bool(os.environ.get("MODICUM_QUICK"))
K, COLUMNS, CHUNK = 60, 12, 5_000
N = 60_000 if QUICK else 500_000

rng = np.random.default_rng(0)
centers = rng.uniform(0, 100, (K, COLUMNS)).astype(np.float32)
shares = rng.dirichlet(np.full(K, 0.05))


def chunks(n: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(0, n, CHUNK):
        noise = rng.standard_normal((CHUNK, COLUMNS), np.float32)
        yield centers[rng.choice(K, CHUNK, p=shares)] + 2 * noise


fresh = np.concatenate(list(chunks(50_000, seed=1)))

# %% One pass, in 2 MiB: a coreset of the stream, compared with centers that are moved chunk by chunk.
model = StreamKMeans(K, budget="2 MiB", random_state=0)
other = MiniBatchKMeans(K, random_state=0)
for chunk in chunks(N, seed=0):
    model.partial_fit(chunk)
    other.partial_fit(chunk)
risks = {"StreamKMeans": -model.score(fresh), "MiniBatchKMeans": -other.score(fresh) / len(fresh)}
for name, risk in risks.items():
    print(f"{name:>16}: mean squared distance of a new row to its center: {risk:.1f}")
print(f"{model.n_seen_:,} rows seen, {model.nbytes_:,} bytes held\n")
assert risks["StreamKMeans"] < risks["MiniBatchKMeans"]

# %% Was it worth reading all rows? Tram reads as many rows as a risk takes, and reports the cost of each round.
X = np.concatenate(list(chunks(N, seed=2)))
tram = Tram(StreamKMeans(K), "3% above best", n_initial=(1_000, 200), random_state=0).fit(X)
for n_rows, n_points, seconds, _, risk, nbytes in tram.path_:
    print(f"{n_rows:7,} rows {n_points:6,} points {nbytes:9,} bytes {seconds:6.2f} s  risk {risk:.2f}")
print(tram.summary(), "\n")

# %% What about other numbers of points? All are measured, with coresets and with plain samples.
n_points = [200, 400] if QUICK else [250, 500, 1_000, 2_000, 4_000]
found = tradeoff(X, n_points, n_clusters=K, n_rows=[len(X) // 2], repeats=3, random_state=0)
for cell in found.cells():
    size = f"{cell.n_rows:7,} rows, {cell.n_points:5,} points"
    print(f"{cell.method:>8} of {size}: {cell.seconds:.2f} s, risk {cell.risk:6.2f}")
risk_by_points(found).savefig("how_many_rows.png")
print("see how_many_rows.png")
