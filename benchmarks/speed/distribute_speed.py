"""A cluster of two processes against one: 50 million rows of Parquet.

    python benchmarks/speed/distribute_speed.py [--quick]

50,000,000 x 16 float32 rows, a mixture of 300 Gaussians, are written as twenty Parquet files into a temporary folder
(3.2 GB, deleted afterwards). `ExemplarClustering(100, budget="64 MiB")` and `KMeansCoreset(4000, 100)` learn them in
one process with one thread, on one core or on two, where another thread reads ahead on the second one; and by
`modicum.distribute.fit` on a local cluster of two workers with one thread each. Every run is in a separate process. A
process that only reads the rows tells what chunk buffers take. Times include reading and decoding, not imports and
compilation.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from stream_memory import D, write_files

from common import MIB, Meter, Result, arguments, nearest, resident, thread_env, warm_up

COMMAND = "python benchmarks/speed/distribute_speed.py"
K, BUDGET, N_POINTS = 100, "64 MiB", 4_000
LEARNERS = ("ExemplarClustering", "KMeansCoreset", "reading only")
HOW = ("one core", "one process", "two workers")


def make(name, seed):
    import modicum

    if name == "ExemplarClustering":
        return modicum.ExemplarClustering(K, budget=BUDGET, random_state=seed)
    return modicum.KMeansCoreset(N_POINTS, K, random_state=seed)


def solved(model):
    """Centers that a learner gives: its exemplars, or the solution of its coreset."""
    if hasattr(model, "exemplars_"):
        return model.exemplars_
    points, weights = model.as_sample()
    return KMeans(K, n_init=3, random_state=0).fit(points, sample_weight=weights).cluster_centers_


def in_one_process(name, folder, seed, n_cores):
    """Learn (or only read) the folder, and measure it."""
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:n_cores])
    import modicum

    warm_up()
    model = make(name, seed) if name != LEARNERS[-1] else None
    with Meter() as meter:
        rows = modicum.stream(folder)
        if model is None:
            n_seen = sum(len(chunk) for chunk in rows)
        else:
            n_seen = model.learn(rows).n_seen_
    held = 0 if model is None else model.nbytes_
    return {
        "seconds": meter.seconds,
        "rows": n_seen,
        "extra": [meter.peak - meter.before],
        "held": held,
        "model": model,
    }


def on_two_workers(name, folder, seed):
    import distributed

    from modicum import distribute

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        client.run(warm_up)
        before = client.run(_reset_peak)
        start = time.perf_counter()
        model = distribute.fit(make(name, seed), folder, client, progress=False)
        seconds = time.perf_counter() - start
        peaks = client.run(resident, "VmHWM")
    extra = [peaks[worker] - before[worker] for worker in peaks]
    return {"seconds": seconds, "rows": model.n_seen_, "extra": extra, "held": model.nbytes_, "model": model}


def _reset_peak():
    with Meter() as meter:
        pass
    return meter.before


def worker(name, how, folder, seed):
    """One run, as a line of JSON."""
    if how == HOW[-1]:
        found = on_two_workers(name, folder, seed)
    else:
        found = in_one_process(name, folder, seed, 1 + HOW.index(how))
    model = found.pop("model")
    print(json.dumps({**found, "centers": None if model is None else np.asarray(solved(model)).tolist()}))


def run(name, how, folder, seed):
    environment = {**thread_env(1), "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, __file__, "--worker", name, how, str(folder), str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}, {how}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure_rows(result, n, seed):
    """The table of long streams, and its bars."""
    with tempfile.TemporaryDirectory() as folder:
        test = write_files(Path(folder), n, seed)
        rows = []
        for name in LEARNERS:
            for how in HOW if name != LEARNERS[-1] else HOW[1:2]:
                found = run(name, how, folder, seed)
                centers = found.pop("centers")
                loss = None if centers is None else float(nearest(test, np.array(centers, np.float32))[0].mean())
                extra = max(found["extra"]) / MIB
                row = {"learner": name, "how": how, **found, "extra_mib": extra, "held_mib": found["held"] / MIB}
                rows.append({**row, "per_second": found["rows"] / found["seconds"], "loss": loss})
                print(f"{name}, {how}: {found['seconds']:.1f} s", flush=True)
    buffers = rows[-1]["extra_mib"]
    for row in rows:
        for how in HOW[:-1]:
            alone = [other for other in rows if (other["learner"], other["how"]) == (row["learner"], how)]
            row[f"times {how}"] = alone[0]["seconds"] / row["seconds"] if alone else None
    columns = [
        ("learner", "learner", ""),
        ("how", "how", ""),
        ("seconds", "seconds", ".1f"),
        ("per_second", "rows per second", ",.0f"),
        *((f"times {how}", f"times as fast as {how}", ".2f") for how in HOW[:-1]),
        ("loss", "mean squared distance, new rows", ".4f"),
        ("extra_mib", "extra MiB of the largest process", ".0f"),
        ("held_mib", "held by the learner, MiB", ".1f"),
    ]
    result.table("rows", columns, rows)
    for row in rows:
        if row["how"] != HOW[-1]:
            continue
        for how in HOW[:-1]:
            times = row[f"times {how}"]
            result.bar(f"{row['learner']}: 1.7 times as fast as {how}", f"{times:.2f}", times >= 1.7)
        limit = (64 if row["learner"] == LEARNERS[0] else row["held_mib"]) + buffers
        what = f"{row['learner']}: no worker above its budget plus chunk buffers ({limit:.0f} MiB)"
        result.bar(what, f"{row['extra_mib']:.0f} MiB", row["extra_mib"] <= limit)


def main():
    args = arguments(__doc__)
    n = 2_000_000 if args.quick else 50_000_000
    result = Result("distribute_speed", COMMAND, args, n=n, d=D, k=K, budget=BUDGET, n_points=N_POINTS)
    measure_rows(result, n, args.seed)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        main()
