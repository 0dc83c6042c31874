"""What a shard costs beyond its rows: 1,000 tiny shards on a cluster of two processes.

    python benchmarks/speed/distribute_overhead.py [--quick]

`modicum.distribute.fit` learns 1,000 row groups of 100 rows, each a shard, and merges them eight at a time. The same
tasks that do nothing, with states of the same size, tell what client and scheduler take; the rest is opening files,
learning, and states to bytes and back. From that follows, on paper, what 10,000 shards on 100 workers take.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Result, arguments

COMMAND = "python benchmarks/speed/distribute_overhead.py"
SHARD_ROWS, FAN_IN, D = 100, 8, 4
MANY, WORKERS = 10_000, 100


def nothing(state, *others):
    return state


def idle(client, state, n_shards):
    """Seconds of a job whose tasks do nothing."""
    from modicum.distribute.fitting import _levels

    start = time.perf_counter()
    states = [client.submit(nothing, state, number, pure=False) for number in range(n_shards)]
    for level in _levels(n_shards, FAN_IN):
        states = [client.submit(nothing, *(states[at] for at in group), pure=False) for group in level]
    states[0].result()
    return time.perf_counter() - start


def main():
    args = arguments(__doc__)
    import distributed
    import pyarrow as pa
    import pyarrow.parquet as pq

    import modicum
    from modicum import distribute

    n_shards = 200 if args.quick else 1_000
    result = Result("distribute_overhead", COMMAND, args, shards=n_shards, rows_per_shard=SHARD_ROWS, fan_in=FAN_IN)
    X = np.random.default_rng(args.seed).normal(size=(n_shards * SHARD_ROWS, D))
    learner = modicum.OnlineKMeans(10)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = pa.table({f"x{j}": X[:, j] for j in range(D)})
        pq.write_table(rows, f"{folder}/rows.parquet", row_group_size=SHARD_ROWS)
        state = distribute.fit(learner, folder, client, 8, progress=False).to_bytes()  # workers import and compile
        runs = [idle(client, state, n_shards) for _ in range(3)]
        start = time.perf_counter()
        made = distribute.fit(learner, folder, client, n_shards, FAN_IN, progress=False)
        seconds = time.perf_counter() - start
    assert made.n_seen_ == len(X)
    overhead, each = np.median(runs) / n_shards, seconds / n_shards
    most = MANY * overhead
    row = {"shards": n_shards, "seconds": seconds, "each": 1e3 * each, "overhead": 1e3 * overhead, "state": len(state)}
    columns = [
        ("shards", "shards of 100 rows", ",d"),
        ("seconds", "seconds", ".1f"),
        ("each", "ms per shard", ".1f"),
        ("overhead", "of it client and scheduler, ms", ".1f"),
        ("state", "bytes of a state", ",d"),
    ]
    result.table("shards", columns, [row | {"idle_seconds": runs}])
    result.note(
        f"On paper: client and scheduler take {most:.0f} s for {MANY:,} shards, whatever the number of workers: they "
        f"do one task after the other. {WORKERS} workers wait for them if a shard takes less than "
        f"{WORKERS * overhead:.2f} s; with shards of a minute the job takes {MANY / WORKERS:.0f} minutes, and they are "
        f"busy for {100 * most / (60 * MANY / WORKERS):.1f}% of that."
    )
    result.write()


if __name__ == "__main__":
    main()
