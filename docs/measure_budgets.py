"""Measure the table of docs/budgets.md and write it there.

    python docs/measure_budgets.py [--check]

With --check nothing is written; the exit code is 1 if a number differs by more than 5%.
"""

import re
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from modicum import ExemplarClustering, Reservoir, stream

PAGE = Path(__file__).parent / "budgets.md"
TABLE = re.compile(r"(<!-- budgets -->\n).*(<!-- /budgets -->)", re.DOTALL)
BUDGETS = ["48 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB"]
K, SEEDS = 20, range(8)
TOLERANCE = 0.05  # other seeds change the means by about 1%


def distance(X: np.ndarray, chosen: np.ndarray) -> float:
    """Mean squared distance of all rows to the nearest chosen one."""
    return float(((X[:, None, :] - chosen[None]) ** 2).sum(axis=2).min(axis=1).mean())


def measure() -> list[list[object]]:
    """Budget, validation rows, loss_, loss over all rows, and its increase over that of the largest budget."""
    X = load_digits().data.astype(np.float32)
    rows: list[list[object]] = []
    for budget in BUDGETS:
        runs = []
        for seed in SEEDS:
            shuffled = np.random.default_rng(seed).permutation(X)
            model = ExemplarClustering(K, budget=budget, random_state=seed).fit(stream(shuffled, chunk_size=256))
            runs.append((len(model.validation_rows_), model.loss_, distance(X, model.exemplars_)))
        rows.append([budget, *np.mean(runs, axis=0)])
    drawn = [distance(X, Reservoir(K, random_state=seed).fit(X).points_) for seed in SEEDS]
    rows.append([f"{K} rows at random", None, None, float(np.mean(drawn))])
    best = rows[len(BUDGETS) - 1][-1]
    return [[*row, row[-1] / best - 1] for row in rows]  # type: ignore[operator]


def markdown(rows: list[list[object]]) -> str:
    head = ["budget", "validation rows", "`loss_`", "loss over all rows", "lost"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for budget, n_validation, sample_loss, loss, lost in rows:
        numbers = ("" if value is None else f"{value:,.0f}" for value in (n_validation, sample_loss, loss))
        cells = [budget, *numbers, f"{lost:.0%}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def parse(table: str) -> np.ndarray:
    """Numbers of rows and losses; "lost" follows from them."""
    lines = [re.findall(r"(?<=\| )[\d,]+(?= \|)", line) for line in table.splitlines()]
    return np.array([float(number.replace(",", "")) for line in lines for number in line])


def main() -> int:
    page, table = PAGE.read_text(encoding="utf-8"), markdown(measure())
    if "--check" not in sys.argv:
        PAGE.write_text(TABLE.sub(lambda found: found[1] + table + found[2], page), encoding="utf-8")
        return 0
    written, measured = parse(TABLE.search(page)[0]), parse(table)  # type: ignore[index]
    same = written.shape == measured.shape and bool(np.all(np.abs(measured / written - 1) <= TOLERANCE))
    print(table if not same else "the table is up to date")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
