"""200 rows of 20,000 with the largest log-determinant: modicum against greedy, sieves and other packages.

    python benchmarks/speed/logdet.py [--quick] [--peer-python INTERPRETER]

20,000 x 20 float32 in 60 Gaussian clusters of uneven size, rows in random order; f(S) = log det(I + K_S), RBF of width
4, b = 200; the streaming contestants see every row once. One thread, a process for each run, three rounds, medians.
Timed: from the array in memory to row numbers. Not timed: imports, the data, one run on 600 rows that compiles what is
compiled. The score f is computed in float64 from the rows chosen.

Greedy and the sieve in numpy are plain references, written from the published pseudo-code. submodlib needs the whole
kernel matrix, so it has 5,000 rows only, and greedy on the same ones beside it.
"""

import json
import math
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, figures, log_det, rbf
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/logdet.py"
D, WIDTH = 20, 4.0
GREEDY, OURS_FINE = "greedy, all rows in memory", "modicum OnlineGreedy, fine"


def clusters(n, seed):
    """60 Gaussian clusters with uneven weights."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(60, D)) * 1.2
    label = rng.choice(60, size=n, p=rng.dirichlet(np.full(60, 0.5)))
    return (centers[label] + rng.normal(size=(n, D)) * 0.6).astype(np.float32)


# ---- contestants: (X, b, seed) -> row numbers ------------------------------------------------------------


def _greedy_selector(name, X, b, **options):
    import modicum
    from modicum.kernels import RBF

    return getattr(modicum, name)(b, kernel=RBF(WIDTH), **options).fit(X).prototype_ids_


def online_greedy(X, b, seed):
    return _greedy_selector("OnlineGreedy", X, b)


def online_greedy_fine(X, b, seed):
    return _greedy_selector("OnlineGreedy", X, b, min_gain=1e-4)


def block_greedy(X, b, seed):
    return _greedy_selector("BlockGreedy", X, b, random_state=seed)


def block_greedy_fine(X, b, seed):
    return _greedy_selector("BlockGreedy", X, b, random_state=seed, min_gain=1e-4)


def _sieves(name, X, b):
    import modicum
    from modicum.kernels import RBF
    from modicum.select.objectives.logdet import LogDet

    return getattr(modicum, name)(b, objective=LogDet(RBF(WIDTH), 1.0), epsilon=0.1).fit(X).prototype_ids_


def sieve_streaming(X, b, seed):
    return _sieves("SieveStreaming", X, b)


def sieve_streaming_plus_plus(X, b, seed):
    return _sieves("SieveStreamingPlusPlus", X, b)


def three_sieves(X, b, seed):
    return _sieves("ThreeSieves", X, b)


def random_rows(X, b, seed):
    return np.random.default_rng(seed).choice(len(X), b, replace=False)


def greedy(X, b, seed):
    """The row with the most variance left joins, again and again: a pivoted Cholesky factorization."""
    X = X.astype(np.float64)
    left, factor, chosen = np.full(len(X), 2.0), np.empty((b, len(X))), []
    for j in range(b):
        i = int(left.argmax())
        row = rbf(X[i : i + 1], X, WIDTH)[0]
        row[i] += 1
        row -= factor[:j, i] @ factor[:j]
        factor[j] = row / math.sqrt(left[i])
        left -= factor[j] ** 2
        left[i] = -np.inf
        chosen.append(i)
    return chosen


class Sieve:
    """A set for one guess of the best value; `inverse` is that of its Cholesky factor."""

    def __init__(self, guess, b):
        self.guess, self.rows, self.value, self.inverse = guess, [], 0.0, np.zeros((b, b))

    def offer(self, i, similar, b):
        """Row i joins if it gains its share of what is missing; whether it did."""
        m = len(self.rows)
        part = self.inverse[:m, :m] @ similar[self.rows]
        left = 2 - part @ part
        if m == b or math.log(left) < (self.guess / 2 - self.value) / (b - m):
            return False
        self.inverse[m, :m], self.inverse[m, m] = -(part @ self.inverse[:m, :m]) / math.sqrt(left), left**-0.5
        self.rows.append(i)
        self.value += math.log(left)
        return True


def numpy_sieves(X, b, seed):
    """SieveStreaming of badanidiyuru2014, guesses a factor of 1.1 apart; every row alone is worth log 2."""
    X = X.astype(np.float64)
    low, high = (math.log(math.log(2) * top) / math.log(1.1) for top in (1, 2 * b))
    sieves = [Sieve(1.1**level, b) for level in range(math.ceil(low), math.floor(high) + 1)]
    similar, pool = np.zeros(len(X)), []  # similar: of the present row to the rows in any sieve, by row number
    for i in range(len(X)):
        if pool:
            similar[pool] = rbf(X[i : i + 1], X[pool], WIDTH)[0]
        if sum(sieve.offer(i, similar, b) for sieve in sieves if len(sieve.rows) < b):
            pool.append(i)
    return max(sieves, key=lambda sieve: sieve.value).rows


def apricot_greedy(X, b, seed):
    from apricot import CustomSelection

    def value(rows):
        return log_det(rbf(rows, rows, WIDTH)) if len(rows) else 0.0

    return CustomSelection(b, value, optimizer="lazy").fit((X - X.min(axis=0)).astype(np.float64)).ranking


def apricot_sieve(X, b, seed):
    from apricot import FacilityLocationSelection

    options = {"max_reservoir_size": 1000, "optimizer_kwds": {"epsilon": 0.1}, "random_state": seed}
    model = FacilityLocationSelection(b, metric="euclidean", **options)
    for start in range(0, len(X), 2000):
        model.partial_fit(X[start : start + 2000].astype(np.float64))
    return model.ranking


def submodlib_lazy(X, b, seed):
    from submodlib import LogDeterminantFunction

    F = LogDeterminantFunction(n=len(X), mode="dense", lambdaVal=1.0, sijs=rbf(X, X, WIDTH).astype(np.float32))
    return [row for row, _ in F.maximize(budget=b, optimizer="LazyGreedy", show_progress=False)]


def pyversity_dpp(X, b, seed):
    import pyversity

    return pyversity.dpp(X - X.mean(axis=0), np.ones(len(X), np.float32), b, diversity=1.0).indices


CONTESTANTS = {  # name: (function, package, what it sees, remark)
    OURS_FINE: (online_greedy_fine, "modicum", "stream", "min_gain 0.0001"),
    "modicum OnlineGreedy": (online_greedy, "modicum", "stream", ""),
    "modicum BlockGreedy, fine": (block_greedy_fine, "modicum", "stream", "min_gain 0.0001"),
    "modicum BlockGreedy": (block_greedy, "modicum", "stream", ""),
    "modicum SieveStreaming": (sieve_streaming, "modicum", "stream", ""),
    "modicum SieveStreaming++": (sieve_streaming_plus_plus, "modicum", "stream", ""),
    "modicum ThreeSieves": (three_sieves, "modicum", "stream", ""),
    GREEDY: (greedy, "numpy", "all", "reference in numpy"),
    "SieveStreaming, reference": (numpy_sieves, "numpy", "stream", "reference in numpy"),
    "random rows": (random_rows, "numpy", "all", ""),
    "apricot lazy greedy": (apricot_greedy, "apricot-select", "all", "f as a function; compiles at each fit"),
    "apricot sieve": (apricot_sieve, "apricot-select", "stream", "its facility location, as it has no log-det sieve"),
    "submodlib lazy greedy": (submodlib_lazy, "submodlib-py", "part", "5,000 rows only: full matrix"),
    "greedy, 5,000 rows in memory": (greedy, "numpy", "part", "reference in numpy"),
    "pyversity DPP": (pyversity_dpp, "pyversity", "all", "for cosines, whose matrix has rank 20"),
}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("sees", "sees", ""),
    ("value", "log det", ".2f"),
    ("seconds", "seconds", ".3f"),
    ("extra_mib", "extra MiB", ".1f"),
    ("chosen", "rows chosen", ".0f"),
    ("n_runs", "runs", "d"),
    ("remark", "remark", ""),
]


# ---- runs --------------------------------------------------------------------------------------------------


def worker(name, n, b, seed):
    """Run one contestant and print one JSON line."""
    from importlib.metadata import version

    run, package, sees, _ = CONTESTANTS[name]
    X = clusters(n, seed)[: n // 4 if sees == "part" else n]
    run(X[:600], 5, seed)
    with Meter() as meter:
        chosen = run(X, b, seed)
    chosen = np.unique(np.asarray(chosen, int))
    value = log_det(rbf(X[chosen], X[chosen], WIDTH))
    facts = {"chosen": len(chosen), "value": value, "version": f"{package} {version(package)}"}
    print(json.dumps({**meter.facts(), **facts}))


def summary(name, runs):
    """One row of the table: medians over the runs that went well."""
    good = [run for run in runs if run["status"] == "ok"]
    _, _, sees, remark = CONTESTANTS[name]
    row = {"contestant": name, "sees": sees, "remark": remark, "status": runs[-1]["status"], "n_runs": len(good)}
    if not good:
        return {**row, "remark": "; ".join(filter(None, [row["status"], remark]))}
    for key in ("seconds", "cpu_seconds", "extra_bytes", "peak_bytes", "value", "chosen"):
        row[key] = statistics.median(run[key] for run in good)
    row["all_seconds"] = [run["seconds"] for run in good]
    return {**row, "extra_mib": row["extra_bytes"] / MIB, "version": good[0]["version"]}


def bars(result, rows):
    found = {row["contestant"]: row for row in rows if "value" in row}
    ours, best = found[OURS_FINE], found[GREEDY]
    measured = f"{ours['value']:.2f} and {best['value']:.2f}"
    result.bar("OnlineGreedy, fine: value at least that of greedy", measured, ours["value"] >= best["value"])
    measured = f"{ours['seconds']:.2f} s and {best['seconds']:.2f} s"
    result.bar("in less than twice its time", measured, ours["seconds"] < 2 * best["seconds"])
    streams = [row for row in found.values() if row["sees"] == "stream" and not row["contestant"].startswith("modicum")]
    for row in streams:
        wish = f"higher value and less time than {row['contestant']}"
        measured = f"{row['value']:.2f} in {row['seconds']:.2f} s"
        result.bar(wish, measured, ours["value"] > row["value"] and ours["seconds"] < row["seconds"])


def plot(result, rows):
    plt = figures()
    figure, axes = plt.subplots(figsize=(8, 4.6))
    for row in rows:
        if "value" not in row or row["sees"] == "part":
            continue
        color = OURS if row["contestant"].startswith("modicum") else GREY if row["sees"] == "all" else PEER
        seconds = max(row["seconds"], 0.01)
        axes.plot(seconds, row["value"], "o", color=color)
        axes.annotate(row["contestant"], (seconds, row["value"]), (6, -3), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="seconds", title="Log-determinant of 200 rows of 20,000")
    axes.set_xlim(right=axes.get_xlim()[1] * 6)
    figure.supxlabel("blue: modicum, red: other streaming methods, grey: all rows in memory", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, repeat={"type": int, "default": 3}, **PEER_OPTIONS)
    n, b = (2000, 40) if args.quick else (20000, 200)
    args.repeat = 1 if args.quick else args.repeat
    result = Result("logdet", COMMAND, args, n=n, d=D, b=b, width=WIDTH, repeat=args.repeat, limit_seconds=args.limit)
    packages = {name: package for name, (_, package, *_) in CONTESTANTS.items()}
    runs = run_rounds(__file__, packages, lambda _: (n, b, args.seed), args)
    rows = sorted((summary(name, done) for (name, _), done in runs.items()), key=lambda row: -row.get("value", 0))
    result.table("one_thread", COLUMNS, rows)
    bars(result, rows)
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
