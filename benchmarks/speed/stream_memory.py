"""Memory and speed over a long stream: 10 million rows of Parquet through 64 MiB.

    python benchmarks/speed/stream_memory.py [--quick]

10,000,000 x 16 float32 rows, a mixture of 300 Gaussians, are written as twenty Parquet files into a temporary folder
(640 MB, deleted afterwards). `ExemplarClustering(100, budget="64 MiB")` learns from `modicum.stream(folder)` in a
separate process with 2 threads, and for scale scikit-learn's MiniBatchKMeans takes the same chunks. Every 0.2 s the
resident memory of the process is recorded. The time includes reading and decoding the files; imports are not. Opening
the second file settles the reader's buffers, so files of half a million rows put that within the first million.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import MIB, OURS, PEER, Result, arguments, figures, nearest, resident, thread_env, warm_up

COMMAND = "python benchmarks/speed/stream_memory.py"
LEARNERS = ("ExemplarClustering", "MiniBatchKMeans", "reading only")
D, K, COMPONENTS, N_FILES = 16, 100, 300, 20


def mixture(rng):
    """A function that draws rows of one mixture."""
    centers = (rng.normal(size=(COMPONENTS, D)) * 1.5).astype(np.float32)
    share, spread = rng.dirichlet(np.ones(COMPONENTS)), rng.uniform(0.5, 1.5, COMPONENTS).astype(np.float32)

    def draw(n):
        label = rng.choice(COMPONENTS, size=n, p=share)
        return centers[label] + spread[label, None] * rng.standard_normal((n, D), dtype=np.float32)

    return draw


def write_files(folder, n, seed):
    """The rows in twenty Parquet files; returns rows of the same mixture that are in none of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = mixture(np.random.default_rng(seed))
    for i in range(N_FILES):
        X = draw(n // N_FILES)
        table = pa.table({f"x{j}": X[:, j] for j in range(D)})
        pq.write_table(table, folder / f"part-{i:02}.parquet", row_group_size=100_000, use_dictionary=False)
    return draw(100_000)


class Watch(threading.Thread):
    """Notes (seconds, rows, resident bytes) every 0.2 s."""

    def __init__(self):
        super().__init__(daemon=True)
        self.rows, self.notes, self.over, self.begin = 0, [], threading.Event(), time.perf_counter()

    def run(self):
        while not self.over.wait(0.2):
            self.notes.append((round(time.perf_counter() - self.begin, 2), self.rows, resident()))


def worker(name, folder, seed):
    """Learn from the folder and print one JSON line."""
    from sklearn.cluster import MiniBatchKMeans

    import modicum

    warm_up()
    source = modicum.stream(folder)
    watch, peaks = Watch(), []

    def count(rows):
        watch.rows += rows
        peaks.append((watch.rows, resident("VmHWM")))

    before, held = resident(), 0
    watch.start()
    start, cpu = time.perf_counter(), time.process_time()
    centers = np.empty((0, D))
    if name == "ExemplarClustering":
        model = modicum.ExemplarClustering(K, budget="64 MiB", random_state=seed)
        model.learn(source, on_chunk=lambda model: count(model.n_seen_ - watch.rows))
        centers, held = model.exemplars_, model.nbytes_
    else:
        model = MiniBatchKMeans(K, random_state=seed, n_init=1)
        for chunk in source:
            if name == "MiniBatchKMeans":
                model.partial_fit(chunk.X)
                centers = model.cluster_centers_
            count(len(chunk.X))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    watch.over.set()
    watch.join()
    facts = {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "rows": watch.rows,
        "bytes_before": before,
        "peak_bytes": resident("VmHWM"),
    }
    facts |= {"held_bytes": held, "notes": watch.notes, "peaks": peaks[:: max(1, len(peaks) // 200)]}
    facts["settled_bytes"] = max(peak for rows, peak in peaks if rows <= max(1_000_000, peaks[0][0]))
    print(json.dumps({**facts, "centers": centers.tolist()}))


def run(name, folder, seed, limit):
    command = [sys.executable, __file__, "--worker", name, str(folder), str(seed)]
    try:
        done = subprocess.run(command, env=thread_env(2), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"status": f"over {limit:g} s"}
    if done.returncode:
        return {"status": "failed: " + done.stderr.strip().splitlines()[-1][:150]}
    return {"status": "ok", **json.loads(done.stdout.splitlines()[-1])}


def plot(result, runs):
    plt = figures()
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, color in (("ExemplarClustering", OURS), ("MiniBatchKMeans", PEER)):
        notes = runs[name].get("notes")
        if notes:
            _, rows, held = np.array(notes).T
            speed = runs[name]["rows"] / runs[name]["seconds"]
            axes.plot(rows / 1e6, held / MIB, color=color, label=f"{name}, {speed:,.0f} rows/s")
    axes.set(xlabel="million rows seen", ylabel="resident MiB of the process", title="Memory along the stream")
    axes.set_ylim(0, 1.25 * axes.get_ylim()[1])
    axes.legend(loc="lower right")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, limit={"type": float, "default": 240.0})
    n = 1_500_000 if args.quick else 10_000_000
    result = Result("stream_memory", COMMAND, args, n=n, d=D, k=K, budget="64 MiB")
    with tempfile.TemporaryDirectory() as folder:
        test = write_files(Path(folder), n, args.seed)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        runs = {name: run(name, folder, args.seed, args.limit) for name in LEARNERS}
    rows = []
    for name, found in runs.items():
        row = {"learner": name, "remark": "" if found["status"] == "ok" else found["status"]}
        if found["status"] == "ok":
            centers = np.array(found.pop("centers"))
            row |= {
                key: found[key]
                for key in ("seconds", "cpu_seconds", "rows", "bytes_before", "peak_bytes", "held_bytes")
            }
            row |= {"per_second": found["rows"] / found["seconds"], "peak_mib": found["peak_bytes"] / MIB}
            row["extra_mib"] = (found["peak_bytes"] - found["bytes_before"]) / MIB
            row["growth_mib"] = max(0, found["peak_bytes"] - found["settled_bytes"]) / MIB
            row["held_mib"] = found["held_bytes"] / MIB or None
            row["loss"] = nearest(test, centers)[0].mean() if len(centers) else None
        rows.append(row)
    columns = [
        ("learner", "learner", ""),
        ("per_second", "rows per second", ",.0f"),
        ("seconds", "seconds", ".1f"),
        ("loss", "mean squared distance, new rows", ".3f"),
        ("extra_mib", "extra MiB", ".1f"),
        ("growth_mib", "of it after the first million rows", ".1f"),
        ("held_mib", "held by the learner, MiB", ".1f"),
        ("peak_mib", "peak MiB of the process", ".0f"),
        ("remark", "remark", ""),
    ]
    result.table("stream", columns, rows)
    ours = rows[0]
    if "rows" in ours:
        assert ours["rows"] == n // N_FILES * N_FILES
        result.bar(
            "the peak grows by less than 5 MiB after the first million rows",
            f"{ours['growth_mib']:.1f} MiB",
            ours["growth_mib"] < 5,
        )
        result.bar("200,000 rows per second", f"{ours['per_second']:,.0f}", ours["per_second"] >= 200_000)
        result.bar("never holds more than 64 MiB between chunks", f"{ours['held_mib']:.1f} MiB", ours["held_mib"] <= 64)
    else:
        result.bar("memory and speed over the stream", ours["remark"], None)
    result.note(
        f"The files have {size / 1e6:.0f} MB. Means may lie anywhere, exemplars are rows: their losses don't compare."
    )
    result.content["runs"] = {
        name: {k: v for k, v in run.items() if k in ("notes", "peaks")} for name, run in runs.items()
    }
    plot(result, runs)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
