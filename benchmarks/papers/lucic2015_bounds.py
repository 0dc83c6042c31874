"""Figures 1c and 1d of lucic2015, and its Propositions 2 to 4, measured.

    python benchmarks/papers/lucic2015_bounds.py [--quick]

1c, 1d  the least time for a risk by the paper's formulas, of a subsampler and of a coreset: the bounds of Propositions
        2 to 4 with all constants 1, d = 2, B = 1, k = 20, a solver that takes k d s^2 for s points, and k d for every
        row summarized. The paper does not print its constants.
P2      the risk of k centers of rows spread evenly over a cube of radius B = 1, against B^2 d / k^(2/d)
P3      how much of the risk is due to learning from m rows, against sqrt(k d / m) B^2
P4      how much is due to a coreset of s points, against 2 (model + estimation error) eta(s), where eta is measured: by
        how much the coreset's centers are above those of all m rows, on these rows

P2 to P4: d = 5, k = 20; best of three runs of KMeans, means over 10 samples, risks on 100,000 new rows.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, THIRD, Result, arguments, figures, nearest
from modicum import StreamKMeans

COMMAND = "python benchmarks/papers/lucic2015_bounds.py"
MOST = 10**8  # rows
COLUMNS = {
    "data": [
        ("n", "rows", ",.0f"),
        ("subsampler", "time of the subsampler", ".3g"),
        ("coreset", "time of the coreset", ".3g"),
        ("s", "its points", ",.0f"),
        ("m", "of rows", ",.0f"),
    ],
    "model": [("k", "k", "d"), ("measured", "risk", ".4f"), ("bound", "bound", ".4f")],
    "estimation": [("m", "rows", ",d"), ("measured", "estimation error", ".5f"), ("bound", "bound", ".5f")],
    "summary": [
        ("s", "points", ",d"),
        ("measured", "summarization error", ".5f"),
        ("bound", "bound", ".5f"),
        ("eta", "eta", ".4f"),
        ("below", "runs below the bound", ".0%"),
    ],
}


# ---- the paper's formulas --------------------------------------------------------------------------------


class Formulas:
    """Risks and times of section 5.2, all constants 1."""

    d, k, B = 2, 20, 1.0

    @property
    def model(self):
        return self.B**2 * self.d / self.k ** (2 / self.d)

    def estimation(self, m):
        return self.B**2 * np.sqrt(self.k * self.d / m)

    def eta(self, s):
        root = np.sqrt(self.d * self.k)
        return root / (np.sqrt(s) - root)

    def solver(self, s):
        return self.k * self.d * s**2

    def subsampler_time(self, n, risk):
        """The least time with at most n rows; infinite if no number of rows is enough."""
        m = (self.B**2 * np.sqrt(self.k * self.d) / (risk - self.model)) ** 2
        return self.solver(m) if m <= n else np.inf

    def coreset_time(self, n, risk):
        """The least time over m <= n rows and s <= m points, with these numbers."""
        m = np.geomspace(100, n, 2000)
        whole = self.model + self.estimation(m)
        room = risk / whole - 1  # for 2 eta(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.where(room > 0, self.d * self.k * (1 + 2 / room) ** 2, np.inf)
            time = np.where(s <= m, self.solver(s) + self.k * self.d * m + s, np.inf)
        best = int(np.argmin(time))
        return (time[best], s[best], m[best]) if np.isfinite(time[best]) else (np.inf, None, None)


def by_formulas(formulas, risks, risk):
    """Rows of Figures 1c (time against n for one risk) and 1d (time against the risk for most rows)."""
    by_data, by_risk = [], []
    for n in np.geomspace(1e3, 1e7, 81):
        time, s, m = formulas.coreset_time(n, risk)
        by_data.append({"n": n, "subsampler": formulas.subsampler_time(n, risk), "coreset": time, "s": s, "m": m})
    for level in risks:
        time, s, m = formulas.coreset_time(MOST, level)
        row = {"risk": level, "subsampler": formulas.subsampler_time(MOST, level), "coreset": time, "s": s, "m": m}
        by_risk.append(row)
    return by_data, by_risk


# ---- the propositions, measured ----------------------------------------------------------------------------

D, K = 5, 20


def cube(n, seed):
    """Rows spread evenly over a cube inside the ball of radius 1."""
    return np.random.default_rng(seed).uniform(-1, 1, (n, D)) / np.sqrt(D)


def centers(X, k, seed):
    return KMeans(k, n_init=3, random_state=seed).fit(X).cluster_centers_


def risk(X, found):
    return float(nearest(X, found)[0].mean())


def proposition_2(counts, n, new):
    """Errors of the model: the risk of k centers of many rows."""
    X = cube(n, 1)
    return [{"k": k, "measured": risk(new, centers(X, k, 0)), "bound": D / k ** (2 / D)} for k in counts]


def proposition_3(sizes, repeats, best, new):
    """Errors of the estimation: what centers of m rows lose to those of many."""
    rows = []
    for m in sizes:
        found = [risk(new, centers(cube(m, [m, i]), K, i)) - best for i in range(repeats)]
        rows.append({"m": m, "measured": np.mean(found), "bound": np.sqrt(K * D / m)})
    return rows


def proposition_4(sizes, m, repeats, new):
    """Errors of the summary: what centers of a coreset of m rows lose to centers of all m."""
    samples = [cube(m, [m, i]) for i in range(repeats)]
    whole = [centers(X, K, i) for i, X in enumerate(samples)]
    rows = []
    for s in sizes:
        pairs = []
        for i, (X, reference) in enumerate(zip(samples, whole, strict=True)):
            through = StreamKMeans(K, n_points=s, n_init=3, random_state=i).fit(X).cluster_centers_
            loss, base = risk(new, through) - risk(new, reference), risk(new, reference)
            pairs.append((loss, max(risk(X, through) / risk(X, reference) - 1, 0.0), base))
        loss, eta, base = np.array(pairs).T
        row = {"s": s, "measured": loss.mean(), "bound": (2 * base * eta).mean(), "eta": eta.mean()}
        rows.append({**row, "below": np.mean(loss <= 2 * base * eta)})
    return rows


# ---- all together --------------------------------------------------------------------------------------------


def bars(result, tables):
    feasible = [row for row in tables["data"] if np.isfinite(row["coreset"])]
    times, falls = [row["coreset"] for row in feasible], feasible[-1]["coreset"] / feasible[0]["coreset"]
    wish = "1c: the coreset's time falls with n, and ends below the subsampler's"
    met = falls < 1 and times[-1] < tables["data"][-1]["subsampler"]
    result.bar(wish, f"{1 / falls:.1f} times, to {times[-1] / tables['data'][-1]['subsampler']:.2f} of it", met)
    ratios = [row["coreset"] / row["subsampler"] for row in tables["risk"]]
    wish = "1d: the coreset's advantage grows as the risk gets smaller"
    result.bar(wish, f"{ratios[-1]:.2g} to {ratios[0]:.2g} of the subsampler's time", ratios[0] < ratios[-1])
    for name, title in (("model", "Proposition 2"), ("estimation", "Proposition 3, constant 1")):
        rows = tables[name]
        ratio = max(row["measured"] / row["bound"] for row in rows)
        result.bar(f"{title}: the measured error is below the bound", f"at most {ratio:.2g} of it", ratio <= 1)
    below = min(row["below"] for row in tables["summary"])
    result.bar("Proposition 4: the measured error is below the bound", f"{below:.0%} of runs, at worst", below == 1)
    rows = [row for row in tables["estimation"] if row["measured"] > 0]
    slope = np.polyfit(np.log([row["m"] for row in rows]), np.log([row["measured"] for row in rows]), 1)[0]
    result.note(f"The measured estimation error falls as m to the power {slope:.2f}; the bound has -0.5.")


def plot(result, tables, level):
    plt = figures()
    figure, panels = plt.subplots(2, 3, figsize=(12, 7))
    c, d, unused, *measured = panels.ravel()
    unused.set_axis_off()
    for axes, key, x in ((c, "data", "n"), (d, "risk", "risk")):
        for who, color in (("subsampler", GREY), ("coreset", PEER)):
            axes.plot([row[x] for row in tables[key]], [row[who] for row in tables[key]], color=color, label=who)
        axes.set(yscale="log", ylabel="operations")
        axes.legend(fontsize=8)
    c.set(title=f"1c: time for a risk of {level:g}", xlabel="rows", xscale="log")
    d.set(title=f"1d: time with {MOST:,} rows", xlabel="risk")
    titles = ("P2: model error", "P3: estimation error", "P4: summarization error")
    places = (("model", "k", "k"), ("estimation", "m", "rows"), ("summary", "s", "points"))
    for axes, title, (key, x, words) in zip(measured, titles, places, strict=True):
        rows = tables[key]
        axes.plot([row[x] for row in rows], [row["measured"] for row in rows], "o-", ms=4, color=OURS, label="measured")
        axes.plot([row[x] for row in rows], [row["bound"] for row in rows], "--", color=THIRD, label="bound")
        axes.set(title=title, xlabel=words, xscale="log", yscale="log")
        axes.set_xticks([row[x] for row in rows], [f"{row[x]:,}" for row in rows])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.legend(fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    counts, rows, sizes, repeats = (
        (2, 5, 10, 20, 50, 100),
        (200, 500, 1000, 2000, 5000, 10_000),
        (200, 500, 1000, 2000, 5000),
        10,
    )
    n, m = 50_000, 20_000
    if args.quick:
        counts, rows, sizes, repeats, n, m = (5, 20), (200, 1000), (200, 1000), 2, 5000, 5000
    result = Result("lucic2015_bounds", COMMAND, args, paper="lucic2015, Figures 1c, 1d, Propositions 2 to 4")
    formulas, level = Formulas(), 0.15
    new = cube(100_000, 0)
    by_data, by_risk = by_formulas(formulas, np.linspace(0.11, 1.0, 90), level)
    best = risk(new, centers(cube(n, 2), K, 0))
    tables = {
        "data": by_data,
        "risk": by_risk,
        "model": proposition_2(counts, n, new),
        "estimation": proposition_3(rows, repeats, best, new),
        "summary": proposition_4(sizes, m, repeats, new),
    }
    result.content["formulas"] = {name: [_finite(row) for row in tables[name]] for name in ("data", "risk")}
    for name in ("model", "estimation", "summary"):
        result.table(name, COLUMNS[name], tables[name])
    result.table("data", COLUMNS["data"], [_finite(row) for row in by_data[::8]])
    bars(result, tables)
    plot(result, tables, level)
    result.write()


def _finite(row):
    """JSON has no infinity."""
    return {key: None if value is None or not np.isfinite(value) else float(value) for key, value in row.items()}


if __name__ == "__main__":
    main()
