"""Figure 2 of lucic2015, first two columns: what time a risk takes, with more and more data; two oracles and TRAM.

    python benchmarks/papers/lucic2015_tradeoffs.py [--quick]

SYNTHETIC (100,000 x 100, k = 100) and KDD2004BIO (144,879 of its 145,751 rows x 74, k = 150). The oracles know the
quickest summary for a risk, out of all those tried: of 500 to 20,000 points, of 2,500 to 80,000 rows, six runs each.
ORACLE-C summarizes rows to a coreset; ORACLE-U takes as many random rows, up to all 80,000, and makes no summary. TRAM
has no prior knowledge: it has n rows to learn from and n / 4 held out; its time is that of all rounds together, six
runs. Risks are relative to the lowest of all medians, on held-out rows; the paper has absolute ones in its plots,
without numbers. First row of the figure: time for one risk against n. Second row: time with all rows against the risk.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import OURS, PEER, THIRD, Result, arguments, figures
from modicum import StreamKMeans, Tram
from modicum.datasets import kdd04_bio, lucic_synthetic
from modicum.tradeoff import tradeoff

COMMAND = "python benchmarks/papers/lucic2015_tradeoffs.py"
DATA = {  # name: (rows, k, the risk of the first row of the figure, in times the best)
    "SYNTHETIC": (lambda: lucic_synthetic()[0], 100, 1.05),
    "KDD2004BIO": (kdd04_bio, 150, 1.05),
}
ROWS = (2500, 5000, 10_000, 20_000, 40_000, 80_000)
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
MORE_ROWS = (40_000, 80_000)  # for ORACLE-U
LEVELS = (1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
INTERESTING = 1.2  # times the best risk, and less
DATA_COLUMNS = [
    ("n", "rows", ",d"),
    ("oracle_c", "ORACLE-C, s", ".3f"),
    ("oracle_u", "ORACLE-U, s", ".3f"),
    ("tram", "TRAM, s", ".3f"),
    ("reached", "TRAM reaches it", ".0%"),
]
RISK_COLUMNS = [
    ("level", "risk, times the best", ".2f"),
    ("oracle_c", "ORACLE-C, s", ".3f"),
    ("summary", "its rows and points", ""),
    ("oracle_u", "ORACLE-U, s", ".3f"),
    ("tram", "TRAM, s", ".3f"),
    ("tram_summary", "its rows and points", ""),
    ("reached", "TRAM reaches it", ".0%"),
    ("overhead", "TRAM / ORACLE-C", ".1f"),
]


def measure_grid(X, k, rows, sizes, more_rows, repeats, seed):
    """All cells of the grid."""
    options = {"n_clusters": k, "n_rows": rows, "random_state": seed}
    found = tradeoff(X, sizes, repeats=repeats, **options)
    found.runs += tradeoff(X, more_rows, methods=("uniform",), repeats=max(1, repeats // 3), **options).runs
    return found


def navigate(X, k, n, risk, repeats, seed):
    """Medians of TRAM with n rows to learn from; no seconds if a fifth of the runs or more do not reach the risk."""
    some = [np.random.default_rng([seed, i]).permutation(len(X))[: n * 5 // 4] for i in range(repeats)]
    runs = [Tram(StreamKMeans(k), risk, random_state=seed + i).fit(X[rows]) for i, rows in enumerate(some)]
    row = {"reached": np.mean([run.reached_ for run in runs]), "all_seconds": [run.seconds_ for run in runs]}
    if row["reached"] <= 0.8:
        return row
    ends = [(run.seconds_, run.path_[-1].n_rows, run.path_[-1].n_points, len(run.path_)) for run in runs]
    seconds, last_rows, size, rounds = np.median(ends, axis=0).tolist()
    return {**row, "tram": seconds, "tram_summary": f"{last_rows:,.0f}, {size:,.0f}", "rounds": rounds}


def compare(X, k, grid, n, level, repeats, seed):
    """A row of a table: both oracles with at most n rows, where they have a summary that is good enough, and TRAM."""
    risk = level * min(cell.risk for cell in grid.cells())
    row = {"n": n, "level": level, **navigate(X, k, n, risk, repeats, seed)}
    ours, uniform = (grid.oracle(method, risk, n) for method in ("coreset", "uniform"))
    if ours:
        row |= {"oracle_c": ours.seconds, "summary": f"{ours.n_rows:,}, {ours.n_points:,}"}
        row["overhead"] = row["tram"] / ours.seconds if "tram" in row else None
    if uniform:
        row["oracle_u"] = uniform.seconds
    return row


def bars(result, name, by_data, by_risk):
    known = [row for row in by_risk if row["level"] <= INTERESTING and {"oracle_c", "tram"} <= set(row)]
    where = f"{name}, risks up to {INTERESTING} times the best"
    if not known:
        result.bar(f"{where}: TRAM reaches it", "never", False)
        return
    worst = max(row["overhead"] for row in known)
    result.bar(f"{where}: TRAM within 3 times ORACLE-C", f"{worst:.1f} times at worst", worst <= 3)
    ratios = [row["tram"] / row.get("oracle_u", np.inf) for row in known]
    result.bar(f"{where}: TRAM below ORACLE-U", f"{max(ratios):.2f} times at worst", max(ratios) < 1)
    for key, who in (("oracle_c", "ORACLE-C"), ("tram", "TRAM")):
        times = [row[key] for row in by_data if key in row]
        measured = ", ".join(f"{seconds:.3f}" for seconds in times)
        result.bar(f"{name}: the time of {who} falls with n", f"{measured} s", len(times) > 1 and times[-1] < times[0])


def plot(result, tables):
    plt = figures()
    figure, panels = plt.subplots(2, len(tables), figsize=(5 * len(tables), 7), squeeze=False)
    lines = (("oracle_u", "ORACLE-U", PEER, "s-"), ("oracle_c", "ORACLE-C", THIRD, "o-"), ("tram", "TRAM", OURS, "D-"))
    for column, (name, (level, by_data, by_risk)) in zip(panels.T, tables.items(), strict=True):
        for axes, rows, place in (
            (column[0], by_data, lambda row: row["n"]),
            (column[1], by_risk, lambda row: 100 * (row["level"] - 1)),
        ):
            for key, label, color, style in lines:
                some = [row for row in rows if key in row]
                axes.plot([*map(place, some)], [row[key] for row in some], style, ms=4, color=color, label=label)
            axes.set(xscale="log", yscale="log", ylabel="seconds")
            axes.set_xticks([*map(place, rows)], [f"{place(row):,.0f}" for row in rows])
            axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axes.legend(fontsize=8)
        column[0].set(title=f"{name}: risk {level} times the best", xlabel="rows")
        column[1].set(title=f"{name}: all rows", xlabel="risk above the best, %")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    rows, sizes, more_rows, repeats = ROWS, SIZES, MORE_ROWS, 6
    if args.quick:
        rows, sizes, more_rows, repeats = (5000, 20_000), (500, 2000), (10_000,), 2
    result = Result("lucic2015_tradeoffs", COMMAND, args, repeats=repeats, paper="lucic2015, Figure 2")
    tables = {}
    for name, (load, k, level) in DATA.items():
        X = load()
        grid = measure_grid(X, k, rows, sizes, more_rows, repeats, args.seed)
        by_data = [compare(X, k, grid, n, level, repeats, args.seed) for n in rows]
        by_risk = [compare(X, k, grid, max(rows), times, repeats, args.seed) for times in LEVELS]
        tables[name] = level, by_data, by_risk
        result.content[f"{name}_cells"] = [cell._asdict() for cell in grid.cells()]
        result.table(f"{name.lower()}_data", DATA_COLUMNS, by_data)
        result.table(f"{name.lower()}_risk", RISK_COLUMNS, by_risk)
    for name, (_, by_data, by_risk) in tables.items():
        bars(result, name, by_data, by_risk)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    main()
