"""Figure 2 of lucic2015: what time a risk takes, with more and more data; two oracles and TRAM.

    python benchmarks/papers/lucic2015_tradeoffs.py [--only BIO_MIXTURE] [--quick]

Centers of SYNTHETIC (100,000 x 100, k = 100) and KDD2004BIO (144,879 of its 145,751 rows x 74, k = 150), and Gaussian
mixtures with full covariances of KDD Cup 99 (494,021 x 33, k = 50; the paper has YAHOO! WEBSCOPE R6A, k = 200) and with
diagonal ones of KDD2004BIO, columns standardized (k = 30). The oracles know the quickest summary for a risk, out of all
those tried: of 500 to 20,000 points, of 2,500 to 80,000 rows, six runs each (mixtures: up to 16,000 points and 320,000
rows, three runs). ORACLE-C summarizes rows to a coreset; ORACLE-U takes as many random rows, up to 80,000, and makes no
summary. TRAM has no prior knowledge: it has n rows to learn from and n / 4 held out; its time is that of all rounds
together, as many runs. Risks are on held-out rows, and relative to the lowest of all medians: times it, or nats above
it for mixtures; the paper has absolute ones in its plots, without numbers. First row of the figure: time for one risk
against n. Second row: time with all rows against the risk. Seconds are those that the processor worked, on one thread:
a busy machine hardly changes them. With --only, all others are those of the present result.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import OURS, PEER, RESULTS, THIRD, Result, arguments, figures
from modicum import StreamGaussianMixture, StreamKMeans, Tram
from modicum.datasets import SYMBOLIC, kdd04_bio, kdd_cup99, lucic_synthetic
from modicum.exceptions import DataWarning
from modicum.tradeoff import tradeoff

COMMAND = "python benchmarks/papers/lucic2015_tradeoffs.py"
MORE_ROWS = (40_000, 80_000)  # for ORACLE-U


class Centers(NamedTuple):
    """k-means; risks are multiples of the best."""

    load: Callable[[], np.ndarray]
    estimator: Any
    rows: tuple = (2500, 5000, 10_000, 20_000, 40_000, 80_000)
    sizes: tuple = (500, 1000, 2000, 5000, 10_000, 20_000)
    repeats: int = 6
    held_out: float = 0.2  # of all rows, for the oracles
    level: float = 1.05  # of the first row of the figure
    levels: tuple = (1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
    interesting: float = 1.2  # and less
    words: str = "{} times the best"
    axis: str = "risk above the best, %"

    def risk(self, best, level):
        return level * best

    def place(self, level):
        """On the axis of risks."""
        return 100 * (level - 1)


class Mixture(Centers):
    """Gaussian mixtures; risks are nats per row above the best."""

    def risk(self, best, level):
        return level + best

    def place(self, level):
        return level


def kdd_columns():
    """400,000 rows of KDD Cup 99: logarithms of one plus the numeric columns, divided by the largest."""
    X, names = kdd_cup99()
    X = np.log1p(X[:, [name not in SYMBOLIC for name in names]], dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    return np.random.default_rng(0).permutation((X / X.max(axis=0)).astype(np.float32))[:400_000]


def bio_columns():
    """KDD2004BIO, each column standardized."""
    X = kdd04_bio().astype(np.float64)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


DATA = {
    "SYNTHETIC": Centers(lambda: lucic_synthetic()[0], StreamKMeans(100)),
    "KDD2004BIO": Centers(kdd04_bio, StreamKMeans(150)),
    "KDDCUP99": Mixture(
        kdd_columns,
        StreamGaussianMixture(50, reg_covar=1e-4),
        rows=(10_000, 20_000, 40_000, 56_000, 80_000, 160_000, 320_000),
        sizes=(500, 1000, 2000, 4000, 8000, 16_000),
        repeats=3,
        held_out=1 / 16,
        level=1.0,
        levels=(0.5, 1.0, 2.0, 4.0, 8.0),
        interesting=2.0,
        words="{} nats above the best",
        axis="nats above the best",
    ),
}
DATA["BIO_MIXTURE"] = DATA["KDDCUP99"]._replace(
    load=bio_columns,
    estimator=StreamGaussianMixture(30, covariance_type="diag", reg_covar=1e-2),
    rows=(5000, 10_000, 20_000, 40_000, 80_000),
    held_out=0.2,
)
DATA_COLUMNS = [
    ("n", "rows", ",d"),
    ("oracle_c", "ORACLE-C, s", ".3f"),
    ("oracle_u", "ORACLE-U, s", ".3f"),
    ("tram", "TRAM, s", ".3f"),
    ("reached", "TRAM reaches it", ".0%"),
]
RISK_COLUMNS = [
    ("words", "risk", ""),
    ("oracle_c", "ORACLE-C, s", ".3f"),
    ("summary", "its rows and points", ""),
    ("oracle_u", "ORACLE-U, s", ".3f"),
    ("tram", "TRAM, s", ".3f"),
    ("tram_summary", "its rows and points", ""),
    ("reached", "TRAM reaches it", ".0%"),
    ("overhead", "TRAM / ORACLE-C", ".1f"),
]


def measure_grid(X, problem, more_rows, seed):
    """All cells of the grid."""
    options = {"estimator": problem.estimator, "n_rows": problem.rows, "random_state": seed}
    options["validation_fraction"] = problem.held_out
    found = tradeoff(X, problem.sizes, repeats=problem.repeats, **options)
    repeats = max(1, problem.repeats // 3)
    found.runs += tradeoff(X, more_rows, methods=("uniform",), repeats=repeats, **options).runs
    return found


def navigate(X, problem, n, risk, seed):
    """Medians of TRAM with n rows to learn from; no seconds if a fifth of the runs or more do not reach the risk."""
    some = [np.random.default_rng([seed, i]).permutation(len(X))[: n * 5 // 4] for i in range(problem.repeats)]
    runs = [Tram(problem.estimator, risk, random_state=seed + i).fit(X[rows]) for i, rows in enumerate(some)]
    row = {"reached": np.mean([run.reached_ for run in runs]), "all_seconds": [run.seconds_ for run in runs]}
    if row["reached"] <= 0.8:
        return row
    ends = [(run.seconds_, run.path_[-1].n_rows, run.path_[-1].n_points, len(run.path_)) for run in runs]
    seconds, last_rows, size, rounds = np.median(ends, axis=0).tolist()
    return {**row, "tram": seconds, "tram_summary": f"{last_rows:,.0f}, {size:,.0f}", "rounds": rounds}


def compare(X, problem, grid, n, level, seed):
    """A row of a table: both oracles with at most n rows, where they have a summary that is good enough, and TRAM."""
    risk = problem.risk(min(cell.risk for cell in grid.cells()), level)
    row = {"n": n, "level": level, "words": problem.words.format(level), **navigate(X, problem, n, risk, seed)}
    ours, uniform = (grid.oracle(method, risk, n) for method in ("coreset", "uniform"))
    if ours:
        row |= {"oracle_c": ours.seconds, "summary": f"{ours.n_rows:,}, {ours.n_points:,}"}
        row["overhead"] = row["tram"] / ours.seconds if "tram" in row else None
    if uniform:
        row["oracle_u"] = uniform.seconds
    return row


def bars(result, name, problem, by_data, by_risk):
    known = [row for row in by_risk if row["level"] <= problem.interesting and {"oracle_c", "tram"} <= set(row)]
    where = f"{name}, risks up to {problem.words.format(problem.interesting)}"
    if known:
        worst = max(row["overhead"] for row in known)
        result.bar(f"{where}: TRAM within 3 times ORACLE-C", f"{worst:.1f} times at worst", worst <= 3)
        ratios = [row["tram"] / row.get("oracle_u", np.inf) for row in known]
        result.bar(f"{where}: TRAM below ORACLE-U", f"{max(ratios):.2f} times at worst", max(ratios) < 1)
    else:
        result.bar(f"{where}: TRAM reaches it", "never", False)
    for key, who in (("oracle_c", "ORACLE-C"), ("tram", "TRAM")):
        times = [row[key] for row in by_data if key in row]
        measured = ", ".join(f"{seconds:.3f}" for seconds in times)
        result.bar(f"{name}: the time of {who} falls with n", f"{measured} s", len(times) > 1 and times[-1] < times[0])


def plot(result, tables):
    plt = figures()
    figure, panels = plt.subplots(2, len(tables), figsize=(5 * len(tables), 7), squeeze=False)
    lines = (("oracle_u", "ORACLE-U", PEER, "s-"), ("oracle_c", "ORACLE-C", THIRD, "o-"), ("tram", "TRAM", OURS, "D-"))
    for column, (name, (problem, by_data, by_risk)) in zip(panels.T, tables.items(), strict=True):
        for axes, rows, place in (
            (column[0], by_data, lambda row: row["n"]),
            (column[1], by_risk, lambda row, problem=problem: problem.place(row["level"])),
        ):
            for key, label, color, style in lines:
                some = [row for row in rows if key in row]
                axes.plot([*map(place, some)], [row[key] for row in some], style, ms=4, color=color, label=label)
            axes.set(xscale="log", yscale="log", ylabel="seconds")
            axes.set_xticks([*map(place, rows)], [f"{place(row):,g}" for row in rows])
            axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axes.tick_params(axis="x", labelsize=7)
            axes.legend(fontsize=8)
        column[0].set(title=f"{name}: {problem.words.format(problem.level)}", xlabel="rows")
        column[1].set(title=f"{name}: all rows", xlabel=problem.axis)
    result.figure(figure)
    plt.close(figure)


def measure(X, problem, more_rows, seed):
    """The grid, and the rows of both tables; seconds are of the processor, one thread."""
    with patch("time.perf_counter", time.process_time), threadpool_limits(1):
        grid = measure_grid(X, problem, more_rows, seed)
        by_data = [compare(X, problem, grid, n, problem.level, seed) for n in problem.rows]
        by_risk = [compare(X, problem, grid, max(problem.rows), level, seed) for level in problem.levels]
    return grid, by_data, by_risk


def main():
    args = arguments(__doc__, only={"choices": DATA, "help": "measure this one alone"})
    warnings.simplefilter("ignore", DataWarning)  # KDD2004BIO is not scaled, as in the paper
    result = Result("lucic2015_tradeoffs", COMMAND, args, paper="lucic2015, Figure 2")
    tables, more_rows = {}, MORE_ROWS
    earlier = json.loads((RESULTS / "lucic2015_tradeoffs.json").read_text()) if args.only else {}
    for name, problem in DATA.items():
        if args.only and name != args.only:
            tables[name] = [earlier["tables"][f"{name.lower()}_{kind}"]["rows"] for kind in ("data", "risk")]
            result.content[f"{name}_cells"] = earlier[f"{name}_cells"]
        else:
            if args.quick:
                problem, more_rows = problem._replace(rows=(5000, 20_000), sizes=(500, 2000), repeats=2), (10_000,)
            grid, *tables[name] = measure(problem.load(), problem, more_rows, args.seed)
            result.content[f"{name}_cells"] = [cell._asdict() for cell in grid.cells()]
        for kind, columns, rows in zip(("data", "risk"), (DATA_COLUMNS, RISK_COLUMNS), tables[name], strict=True):
            result.table(f"{name.lower()}_{kind}", columns, rows)
    if args.only:
        result.note(f"All but {args.only} were measured at {earlier['commit']}.")
    tables = {name: (DATA[name], *rows) for name, rows in tables.items()}
    for name, rows in tables.items():
        bars(result, name, *rows)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    main()
