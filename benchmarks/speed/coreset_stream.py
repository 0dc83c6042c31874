"""k-means of a stream of 50 million rows, in 64 MiB: StreamKMeans against scikit-learn, BICO and River.

    python benchmarks/speed/coreset_stream.py [--quick] [--rows N] [--peer-python INTERPRETER]

Rows of 8 columns in float32 from 300 Gaussian clusters, generated on request in chunks of 50,000; k = 100. Each
contestant runs in a separate process, with one thread. Seconds are those of learning, and of the centers at the end;
generating rows is measured separately. Contestants that would take very long stop after 20 s and answer with what they
have; River takes rows one at a time. Resident memory of the process is noted after each chunk.

The risk is the mean squared distance to the nearest center of 100,000 held-out rows. It depends on
seeds more than on anything else, so it is the mean of three runs; two of them have a tenth of the rows.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import MIB, OURS, PALE, PEER, THIRD, Result, arguments, figures, nearest, resident
from peers import PEER_OPTIONS, interpreters, run_worker

COMMAND = "python benchmarks/speed/coreset_stream.py"
D, K, CLUSTERS, CHUNK = 8, 100, 300, 50_000
BUDGET = 64  # MiB
SETTLED = 2_000_000  # rows after which memory must be flat
PATIENCE = 20  # seconds for contestants that would take very long
STREAM_KMEANS, MINI_BATCH = "modicum StreamKMeans", "MiniBatchKMeans"


# ---- contestants: seed -> (learn a piece of a chunk, ask for centers, ask for the bytes held) --------------


def stream_kmeans(seed):
    from modicum import StreamKMeans

    model = StreamKMeans(K, budget=f"{BUDGET} MiB", random_state=seed)
    return model.partial_fit, lambda: model.cluster_centers_, lambda: model.nbytes_


def mini_batch(seed):
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(K, n_init=1, random_state=seed)
    return model.partial_fit, lambda: model.cluster_centers_, lambda: None


def bico(seed):
    from bico import BICO
    from sklearn.cluster import KMeans

    solver = KMeans(K, n_init=1, random_state=seed)
    model = BICO(K, summary_size=100 * K, random_state=seed, fit_coreset=True, coreset_estimator=solver)

    def learn(rows):
        model.partial_fit(rows.astype(np.float64))

    return learn, lambda: model.partial_fit().cluster_centers_, lambda: None


def stream_kmeans_of_river(seed):
    from river.cluster import STREAMKMeans

    return _one_by_one(STREAMKMeans(chunk_size=500, n_clusters=K, halflife=0.5, sigma=1.5, seed=seed))


def clu_stream(seed):
    from river.cluster import CluStream

    return _one_by_one(CluStream(n_macro_clusters=K, max_micro_clusters=2 * K, halflife=0.5, seed=seed))


def _one_by_one(model):
    def learn(rows):
        for row in rows.tolist():
            model.learn_one(dict(enumerate(row)))

    def centers():
        return [[center[column] for column in range(D)] for center in model.centers.values()]

    return learn, centers, lambda: None


CONTESTANTS = {  # name: (function, package, rows at a time, seconds, remark)
    STREAM_KMEANS: (stream_kmeans, "modicum", CHUNK, np.inf, f"budget of {BUDGET} MiB"),
    MINI_BATCH: (mini_batch, "scikit-learn", CHUNK, np.inf, ""),
    "MiniBatchKMeans, 1,024 at a time": (mini_batch, "scikit-learn", 1024, PATIENCE, ""),
    "BICO": (bico, "bico", 1000, PATIENCE, ""),
    "River STREAMKMeans": (stream_kmeans_of_river, "river", 100, PATIENCE, ""),
    "River CluStream": (clu_stream, "river", 100, PATIENCE, ""),
}
COLORS = {STREAM_KMEANS: OURS, MINI_BATCH: PEER, "MiniBatchKMeans, 1,024 at a time": PALE, "BICO": THIRD}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("per_second", "rows per second", ",.0f"),
    ("seconds", "seconds", ".1f"),
    ("rows", "rows", ",d"),
    ("risk", "risk, new rows", ".3f"),
    ("best_risk", "best seed", ".3f"),
    ("worst_risk", "worst seed", ".3f"),
    ("extra_mib", "extra MiB", ".1f"),
    ("growth_mib", "of it after 2 million rows", ".1f"),
    ("held_mib", "held by the learner, MiB", ".1f"),
    ("remark", "remark", ""),
]


# ---- one run in a separate process ---------------------------------------------------------------------


def worker(name, n, data_seed, seed):
    """Stream rows through one contestant and print one JSON line."""
    from modicum.datasets import mixture

    make, _, piece, limit, _ = CONTESTANTS[name]
    chunks = mixture(n + 2 * CHUNK, D, CLUSTERS, chunk_size=CHUNK, random_state=data_seed)
    held_out = np.concatenate([next(chunks), next(chunks)])
    learn, ask, _ = make(seed)
    for part in pieces(held_out[:600], piece):  # compiles what is compiled
        learn(part)
    ask()

    learn, ask, held = make(seed)
    rows, learning, notes = 0, 0.0, []
    before, start = resident(), time.perf_counter()
    for chunk in chunks:
        begin = time.perf_counter()
        for part in pieces(chunk, piece):
            learn(part)
            rows += len(part)
            if (seconds := learning + time.perf_counter() - begin) > limit:
                break
        learning = seconds
        notes.append((rows, resident(), resident("VmHWM")))
        if learning > limit:
            break
    making = time.perf_counter() - start - learning
    begin = time.perf_counter()
    centers = ask()
    solving = time.perf_counter() - begin
    facts = {"rows": rows, "seconds": learning + solving, "solve_seconds": solving, "making_seconds": making}
    facts |= {"bytes_before": before, "peak_bytes": resident("VmHWM"), "held_bytes": held()}
    facts["risk"] = nearest(held_out, centers)[0].mean()
    print(json.dumps({**facts, "notes": notes[:: max(1, len(notes) // 200)]}))


def pieces(rows, size):
    return (rows[start : start + size] for start in range(0, len(rows), size))


# ---- the table -----------------------------------------------------------------------------------------


def run_all(args, n):
    """{name: runs}: all rows first, then a tenth of them with other seeds, for contestants that got that far."""
    runs, pythons = {}, interpreters(args.peer_python)
    for name, (_, package, *_) in CONTESTANTS.items():
        done = runs[name] = []
        for turn in range(args.repeat):
            rows = n // 10 if turn else n
            if turn and done[0].get("rows", 0) < rows:
                break
            sizes = (rows, args.seed, turn)
            run = run_worker(__file__, name, package, sizes, threads=1, limit=args.limit, pythons=pythons)
            done.append(run)
            measured = (
                "{rows:,} rows in {seconds:.1f} s, risk {risk:.3f}".format(**run) if "rows" in run else run["status"]
            )
            print(f"{name}: {measured}", file=sys.stderr, flush=True)
    return runs


def summary(name, runs, n):
    """One row of the table: all but the risk is of the run over all rows."""
    first, remark = runs[0], CONTESTANTS[name][-1]
    if first["status"] != "ok":
        return {"contestant": name, "remark": first["status"]}
    risks = [run["risk"] for run in runs if run["status"] == "ok"]
    settled = max(peak for rows, _, peak in first["notes"] if rows <= max(SETTLED, first["notes"][0][0]))
    measured = {key: value for key, value in first.items() if key not in ("status", "wall", "notes")}
    return {
        "contestant": name,
        **measured,
        "per_second": first["rows"] / first["seconds"],
        "risk": statistics.mean(risks),
        "best_risk": min(risks),
        "worst_risk": max(risks),
        "all_risks": risks,
        "extra_mib": (first["peak_bytes"] - first["bytes_before"]) / MIB,
        "growth_mib": max(0, first["notes"][-1][2] - settled) / MIB if first["rows"] == n else None,
        "held_mib": first["held_bytes"] and first["held_bytes"] / MIB,
        "remark": remark if first["rows"] == n else f"stopped after {PATIENCE} s",
    }


def bars(result, rows):
    found = {row["contestant"]: row for row in rows if "risk" in row}
    if STREAM_KMEANS not in found or len(found) == 1:
        result.bar("all bars", "StreamKMeans or all others did not run", None)
        return
    ours = found[STREAM_KMEANS]
    wish = "StreamKMeans: the peak of memory grows by less than 5 MiB after 2 million rows"
    result.bar(wish, f"{ours['growth_mib']:.1f} MiB", ours["growth_mib"] < 5)
    wish = f"StreamKMeans: holds no more than {BUDGET} MiB"
    result.bar(wish, f"{ours['held_mib']:.1f} MiB", ours["held_mib"] <= BUDGET)
    lowest = min((row for row in found.values() if row is not ours), key=lambda row: row["risk"])
    measured = f"{ours['risk']:.3f}, next {lowest['risk']:.3f} ({lowest['contestant']})"
    result.bar("StreamKMeans: the lowest risk", measured, ours["risk"] < lowest["risk"])


def plot(result, runs):
    plt = figures()
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, color in COLORS.items():
        first = runs[name][0]
        if first["status"] == "ok":
            rows, held, _ = np.array(first["notes"]).T
            speed = first["rows"] / first["seconds"]
            axes.plot(rows / 1e6, held / MIB, color=color, label=f"{name}, {speed:,.0f} rows/s")
    axes.set(xlabel="million rows seen", ylabel="resident MiB of the process", title="Memory along the stream")
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])
    axes.legend(loc="lower right", fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    options = {"rows": {"type": int, "default": 50_000_000}, "repeat": {"type": int, "default": 3}, **PEER_OPTIONS}
    args = arguments(__doc__, **(options | {"limit": {"type": float, "default": 600.0}}))
    n, args.repeat = (4_000_000, 2) if args.quick else (args.rows, args.repeat)
    result = Result("coreset_stream", COMMAND, args, n=n, d=D, k=K, budget=f"{BUDGET} MiB", repeat=args.repeat)
    runs = run_all(args, n)
    rows = [summary(name, found, n) for name, found in runs.items()]
    result.table("stream", COLUMNS, rows)
    bars(result, rows)
    result.content["memory"] = {name: found[0].get("notes") for name, found in runs.items()}
    plot(result, runs)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
