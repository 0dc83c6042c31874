"""Adaptive plans against random ones: how many answers do the same clusters take? (gomes2011, sections 7.4 and 7.6)

    python benchmarks/papers/gomes2011_efficiency.py [--quick]

Simulated: 200 items, 40 workers, tasks of 20, slips with 10% of the items. The first 36 answers are those of a random
plan; then, in rounds of 18, tasks are random, those of the least known items (`uncertain`), or of one cluster
(`coarse_to_fine`). Schools see one of two or three attributes; "20 clusters" has one school and clusters of uneven
size. In "context", workers tell four kinds of an item apart only if three quarters of the task are of one sort.

Replayed: the answers of real workers (dogs and birds) are revealed in rounds, the first half of them at random; then at
random, or drawn by the worth of their items (`task_worth`). An answer is to a task that was made at random, and most
pairs were seen once, so there is little to choose from.

The number of clusters is given. Shown is the mean ARI, and how many answers reach nine tenths of what random plans
reach with all answers. Plans were developed on seeds 0 to 2 of the simulations; the seeds here are others.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modicum import CrowdClustering
from modicum.crowd import Answers, coarse_to_fine, random_plan, task_worth, uncertain
from modicum.datasets import dogs_and_birds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Result, arguments, figures

COMMAND = "python benchmarks/papers/gomes2011_efficiency.py"
ITEMS, WORKERS, TASK, SLIPS = 200, 40, 20, 0.1
ROUNDS = np.arange(36, 217, 18)
KINDS = {"4 clusters, two schools": 2, "8 clusters, three schools": 3, "20 clusters": "20", "context": "context"}
PLANS = "random", "uncertain", "coarse-to-fine"
REPLAYED = ("radio-3-image-dogs3-2023", "radio-3-image-birds5-2023", "sd-rq-wp-2-birds5-2023", "sd-rq-wp-4-birds5-2023")
SHARES = np.linspace(0.5, 1, 6)


class Crowd:
    """Workers who answer any task."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng([seed, 7])
        self.kind, self._rng = kind, np.random.default_rng([seed, 8])
        if isinstance(kind, int):
            self._attributes = rng.integers(2, size=(ITEMS, kind))
            self.truth = self._attributes @ (1 << np.arange(kind))
        elif kind == "20":
            shares = rng.dirichlet(np.full(20, 2.0))
            self.truth = np.concatenate([np.arange(20), rng.choice(20, ITEMS - 20, p=shares)])
        else:
            self.truth = rng.permutation(ITEMS) % 20
        schools = isinstance(kind, int)
        self.settings = {"n_dims": 3 if schools else 6, "workers": "matrix" if schools else "reliability", "n_init": 1}

    def answer(self, worker, items):
        if isinstance(self.kind, int):
            group = self._attributes[items, worker % self.kind].copy()
        else:
            group, sort = self.truth[items].copy(), self.truth[items] // 4
            if self.kind == "context" and np.bincount(sort).max() < 0.75 * len(items):
                group = sort
        slips = self._rng.random(len(items)) < SLIPS
        group[slips] = self._rng.choice(np.unique(group), slips.sum())
        return group


def tasks_of(plan, model, count, seed):
    if model is None or plan == "random":
        return random_plan(ITEMS, TASK, TASK * count / ITEMS, random_state=seed).tasks[:count]
    if plan == "uncertain":
        return uncertain(model, TASK, count, items=np.arange(ITEMS), random_state=seed).tasks
    return coarse_to_fine(model, TASK, count, random_state=seed).tasks


def simulate(kind, plan, seed):
    """ARI after each round."""
    crowd, rows, model, scores = Crowd(kind, seed), [], None, []
    n_clusters = len(np.unique(crowd.truth))
    for stop in ROUNDS:
        for items in tasks_of(plan, model, stop - len(rows), 1000 * seed + len(rows)):
            number = len(rows)
            answer = crowd.answer(number % WORKERS, items)
            rows.append((np.full(len(items), number % WORKERS), np.full(len(items), number), items, answer))
        answers = Answers(*(np.concatenate(column) for column in zip(*rows, strict=True)))
        model = CrowdClustering(n_clusters=n_clusters, random_state=0, **crowd.settings).fit_groupings(answers)
        scores.append(adjusted_rand_score(crowd.truth[model.items_], model.clusters_))
    return scores


def replay(answers, truth, plan, seed):
    """ARI after each round of revealed answers."""
    rng, number = np.random.default_rng(seed), answers.numbers()
    n_answers, n_clusters = number.max() + 1, len(np.unique(truth))
    tasks = np.split(answers.item[np.argsort(number, kind="stable")], np.cumsum(np.bincount(number))[:-1])
    is_shown, worth, scores = np.zeros(n_answers, bool), np.ones(n_answers), []
    for share in SHARES:
        hidden = np.flatnonzero(~is_shown)
        weight = worth[hidden] / worth[hidden].sum()
        is_shown[rng.choice(hidden, round(share * n_answers) - is_shown.sum(), replace=False, p=weight)] = True
        model = CrowdClustering(3, workers="reliability", n_clusters=n_clusters, n_init=1, random_state=0)
        model.fit_groupings(answers.take(is_shown[number]))
        scores.append(adjusted_rand_score(truth[model.items_], model.clusters_))
        if plan == "uncertain":
            worth = task_worth(model, tasks)
    return scores


def reached(counts, scores, level):
    """The number of answers at which a curve first reaches a level; None if it does not."""
    best = np.maximum.accumulate(scores)
    return float(np.interp(level, best, counts)) if best[-1] >= level else None


def line_of(name, plan, counts, scores, base):
    level = 0.9 * base[-1]
    needed, usual = reached(counts, scores, level), reached(counts, base, level)
    at = float(np.interp(0.7 * counts[-1], counts, scores))
    return {
        "name": name,
        "plan": plan,
        **{f"at{i}": score for i, score in enumerate(scores)},
        "needed": needed,
        "saved": None if needed is None else 1 - needed / usual,
        "fewer": at - base[-1],
    }


def main():
    args = arguments(__doc__)
    result = Result("gomes2011_efficiency", COMMAND, args, items=ITEMS, paper="gomes2011, 7.4")
    seeds = range(args.seed + 50, args.seed + (51 if args.quick else 58))
    curves, lines = {}, []
    for name, kind in KINDS.items():
        for plan in PLANS:
            curves[name, plan] = np.mean([simulate(kind, plan, seed) for seed in seeds], axis=0)
            line = line_of(name, plan, ROUNDS, curves[name, plan], curves[name, "random"])
            lines.append(line | {"last": line[f"at{len(ROUNDS) - 1}"], "middle": line[f"at{len(ROUNDS) // 2}"]})
            print(lines[-1], flush=True)
    columns = [
        ("name", "simulated", ""),
        ("plan", "plan", ""),
        ("middle", f"ARI, {ROUNDS[len(ROUNDS) // 2]} answers", ".3f"),
        ("last", f"ARI, {ROUNDS[-1]} answers", ".3f"),
        ("needed", "answers for 0.9 of random's last ARI", ".0f"),
        ("saved", "fewer than random", ".0%"),
        ("fewer", "ARI with 70% of the answers, minus random with all", "+.3f"),
    ]
    result.table("simulated", columns, lines)
    replays = []
    experiments = dogs_and_birds()
    for name in REPLAYED[: 1 if args.quick else None]:
        base = None
        for plan in ("random", "uncertain"):
            answers, truth = experiments[name]
            scores = np.mean([replay(answers, truth, plan, seed) for seed in seeds[:3]], axis=0)
            base = scores if base is None else base
            line = line_of(name, plan, SHARES, scores, base)
            replays.append(line | {"mean": float(np.mean(scores[1:-1]))})
            print(replays[-1], flush=True)
    columns = [
        ("name", "replayed", ""),
        ("plan", "answers drawn", ""),
        *((f"at{i}", f"ARI, {share:.0%}", ".3f") for i, share in enumerate(SHARES)),
        ("fewer", "ARI with 70%, minus random with all", "+.3f"),
    ]
    result.table("replayed", columns, replays)
    for line in lines:
        if line["plan"] == "uncertain":
            result.bar(
                f"{line['name']}: as good with 30% fewer answers",
                f"ARI {line['fewer']:+.3f}, {line['saved'] or 0:.0%} fewer for nine tenths of it",
                line["fewer"] >= -0.01,
            )
    for line in replays:
        if line["plan"] == "uncertain":
            wish = f"{line['name']}, replayed: as good with 30% fewer answers"
            result.bar(wish, f"ARI {line['fewer']:+.3f}", line["fewer"] >= -0.01)
    plot(result, curves)
    result.write()


def plot(result, curves):
    plt = figures()
    figure, panels = plt.subplots(1, len(KINDS), figsize=(13, 3.2), sharey=True)
    for axes, name in zip(panels, KINDS, strict=True):
        for plan, colour in zip(PLANS, (GREY, OURS, PEER), strict=True):
            axes.plot(ROUNDS, curves[name, plan], color=colour, label=plan, marker="o", ms=3)
        axes.set(title=name, xlabel="answers", ylim=(0, 1.02))
    panels[0].set_ylabel("adjusted Rand index")
    panels[0].legend(loc="lower right")
    result.figure(figure)
    plt.close(figure)


if __name__ == "__main__":
    main()
