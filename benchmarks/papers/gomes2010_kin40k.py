"""Figure 4 (right) of gomes2010: test error on KIN40K against the number of active rows, for three objectives.

    python benchmarks/papers/gomes2010_kin40k.py [--active 200 400] [--validation 2000] [--add] [--quick]

10,000 training and 30,000 test rows of 8 columns; one pass. Hyper-parameters (a width for each column, signal, noise)
by marginal likelihood on 2,000 random rows, then given to all. A Gaussian process on K active rows chosen with W
validation rows, by the error there (the paper's L-hat), by the variance left there (F_V), or by their log-determinant
(F_H, which needs no validation rows). Beside them the projected process, which learns from all rows.

The paper shows curves, not numbers: for K up to 600 both objectives with validation rows beat the
log-determinant, whatever W is. With --add, rows of the present result stay for the K and W that are not measured now.
"""

import json
import sys
from pathlib import Path

import numpy as np

from modicum import SparseGPRegressor
from modicum.datasets import kin40k
from modicum.kernels.marginal_likelihood import fit_hyperparameters

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, RESULTS, THIRD, Meter, Result, arguments, commit, figures

COMMAND = "python benchmarks/papers/gomes2010_kin40k.py"
BUDGET = "512 MiB"  # more than any of these sizes needs
KINDS = {"error": "active", "variance": "active", "logdet": "active", "projected": "projected"}
COLORS = {"error": OURS, "variance": PEER, "logdet": GREY, "projected": THIRD}
COLUMNS = [
    ("K", "K", "d"),
    ("W", "W", "d"),
    ("kind", "objective", ""),
    ("mse", "test MSE", ".4f"),
    ("cpu_seconds", "processor s", ".1f"),
    ("swaps", "swaps", "d"),
    ("extra_mib", "extra MiB", ".0f"),
]


def hyper_parameters(X, y, count, seed):
    """Kernel and noise from some rows, and the meter of their fit."""
    some = np.random.default_rng(seed).permutation(len(X))[:count]
    with Meter() as meter:
        kernel, noise, _ = fit_hyperparameters("rbf-ard", X[some], y[some])
    return kernel, noise, meter


def grid(data, kernel, noise, active, validation, seed):
    """One row for each K, W and objective."""
    X, y, X_test, y_test = data
    rows = []
    for K in active:
        for kind, predictor in KINDS.items():
            for W in validation[:1] if kind == "logdet" else validation:
                objective = "error" if kind == "projected" else kind
                model = SparseGPRegressor(
                    K,
                    n_validation=W,
                    kernel=kernel,
                    noise=noise,
                    objective=objective,
                    predictor=predictor,
                    budget=BUDGET,
                    random_state=seed,
                )
                with Meter() as meter:
                    model.fit(X, y)
                row = {"K": K, "W": None if kind == "logdet" else W, "kind": kind, "swaps": model.n_swaps_}
                row["mse"] = float(np.mean((model.predict(X_test) - y_test) ** 2))
                rows.append({**row, **meter.facts(), "extra_mib": meter.facts()["extra_bytes"] / MIB})
                print("K = {K}, W = {W}, {kind}: {mse:.4f}, {seconds:.1f} s".format(**rows[-1]), file=sys.stderr)
    return rows


def with_earlier(rows):
    """These rows and those of the present result for other K and W; each states its commit."""
    earlier = json.loads((RESULTS / "gomes2010_kin40k.json").read_text())
    found = {(row["K"], row["W"] or 0, row["kind"]): row for row in earlier["tables"]["grid"]["rows"]}
    for row in found.values():
        row.setdefault("commit", earlier["commit"])
    found |= {(row["K"], row["W"] or 0, row["kind"]): {**row, "commit": commit()} for row in rows}
    kinds = list(KINDS)
    return [found[key] for key in sorted(found, key=lambda key: (key[0], kinds.index(key[2]), key[1]))]


def plot(result, rows):
    validation = sorted({row["W"] for row in rows} - {None})
    plt = figures()
    figure, panels = plt.subplots(1, len(validation), figsize=(4 * len(validation), 4), sharey=True, squeeze=False)
    for axes, W in zip(panels[0], validation, strict=True):
        for kind, color in COLORS.items():
            line = [(row["K"], row["mse"]) for row in rows if row["kind"] == kind and row["W"] in (W, None)]
            axes.plot(*zip(*line, strict=True), "o-", ms=4, color=color, label=kind)
        axes.set(title=f"{W:,} validation rows", xlabel="active rows", yscale="log")
    panels[0][0].set_ylabel("test MSE")
    panels[0][0].legend()
    result.figure(figure)
    plt.close(figure)


def bars(result, rows):
    found = {(row["K"], row["W"], row["kind"]): row for row in rows}
    for kind in ("error", "variance"):
        cases = [row for row in rows if row["kind"] == kind and row["K"] <= 600]
        worse = [row for row in cases if row["mse"] >= found[row["K"], None, "logdet"]["mse"]]
        measured = ", ".join(f"not for K = {row['K']}, W = {row['W']}" for row in worse) or f"in all {len(cases)} cases"
        result.bar(f"objective {kind}: MSE below that of logdet for K up to 600, all W (paper)", measured, not worse)
    first = next(row for row in rows if row["kind"] == "error")
    wish = f"objective error, K = {first['K']}, W = {first['W']}: one pass in under 60 s"
    result.bar(wish, f"{first['seconds']:.1f} s", first["seconds"] < 60)


def main():
    sizes = {"type": int, "nargs": "+"}
    args = arguments(
        __doc__,
        active={**sizes, "default": [200, 400, 600, 800, 1000], "help": "active rows"},
        validation={**sizes, "default": [2000, 6000, 10000], "help": "validation rows"},
        add={"action": "store_true", "help": "to the present result"},
    )
    full = (args.active, args.validation, 10_000, 2000)
    active, validation, n, count = ((30, 60), (500, 1000), 2000, 500) if args.quick else full
    result = Result("gomes2010_kin40k", COMMAND, args, K=active, W=validation, paper="gomes2010, Figure 4 (right)")
    X, y, X_test, y_test = kin40k()
    kernel, noise, meter = hyper_parameters(X[:n], y[:n], count, args.seed)
    result.content["hyper_parameters"] = {"kernel": str(kernel), "noise": noise, **meter.facts()}
    SparseGPRegressor(5, kernel=kernel, noise=noise).fit(X[:300], y[:300])  # compiles what is compiled
    rows = grid((X[:n], y[:n], X_test, y_test), kernel, noise, active, validation, args.seed)
    if args.add:
        rows = with_earlier(rows)
        result.content |= {name: sorted({row[name] for row in rows} - {None}) for name in ("K", "W")}
    result.table("grid", COLUMNS, rows)
    bars(result, rows)
    result.note(f"The fit of hyper-parameters to {count:,} rows took {meter.seconds:.1f} s and is not in the seconds.")
    result.note(
        "After the pass the validation rows are offered once more, as `fit` does. Projected: active rows are chosen "
        "for the error of the projected process."
    )
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    main()
