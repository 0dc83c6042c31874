"""How many rows do I need? Clusters of a stream, and the data, memory and time that a wanted risk takes.

python examples/how_many_rows.py    writes how_many_rows.png
"""

# %% A stream from 60 clusters, made as it is read. A few clusters have most of the rows; others are rare.
import os
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from modicum import StreamKMeans, Tram
from modicum.plot import risk_by_size
from modicum.tradeoff import tradeoff

QUICK = bool(os.environ.get("MODICUM_QUICK"))
K, COLUMNS, CHUNK = 60, 12, 5_000
N = 60_000 if QUICK else 500_000

rng = np.random.default_rng(0)
places = rng.uniform(0, 100, (K, COLUMNS)).astype(np.float32)
shares = rng.dirichlet(np.full(K, 0.05))


def chunks(n: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(0, n, CHUNK):
        noise = rng.standard_normal((CHUNK, COLUMNS), np.float32)
        yield places[rng.choice(K, CHUNK, p=shares)] + 2 * noise


fresh = np.concatenate(list(chunks(50_000, seed=1)))

# %% One pass, in 2 MiB: a coreset of the stream, beside centers that follow it.
model = StreamKMeans(K, budget="2 MiB", random_state=0)
other = MiniBatchKMeans(K, random_state=0)
for chunk in chunks(N, seed=0):
    model.partial_fit(chunk)
    other.partial_fit(chunk)
risks = {"StreamKMeans": -model.score(fresh), "MiniBatchKMeans": -other.score(fresh) / len(fresh)}
for name, risk in risks.items():
    print(f"{name:>16}: a new row is on average {risk:.1f} (squared) from its center")
print(f"{model.n_seen_:,} rows seen, {model.nbytes_:,} bytes held\n")
assert risks["StreamKMeans"] < risks["MiniBatchKMeans"]

# %% Was it worth while to read all of it? Tram takes as many rows as a risk needs, and tells what it took.
X = np.concatenate(list(chunks(N, seed=2)))
tram = Tram(StreamKMeans(K), "3% above best", start=(1_000, 200), random_state=0).fit(X)
for rows, size, seconds, _, risk, nbytes in tram.path_:
    print(f"{rows:7,} rows {size:6,} points {nbytes:9,} bytes {seconds:6.2f} s  risk {risk:.2f}")
print(tram.summary(), "\n")

# %% And what would other sizes have done? Everything is tried, with weighted points and with plain samples.
sizes = [200, 400] if QUICK else [250, 500, 1_000, 2_000, 4_000]
found = tradeoff(X, sizes, n_clusters=K, rows=[len(X) // 2], repeats=3, random_state=0)
for method, rows, size, _, seconds, risk, *_ in found.cells():
    print(f"{method:>8} of {rows:7,} rows, {size:5,} points: {seconds:.2f} s, risk {risk:6.2f}")
risk_by_size(found).savefig("how_many_rows.png")
print("see how_many_rows.png")
