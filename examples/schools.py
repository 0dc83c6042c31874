"""People sort cards: some by colour, some by shape. One clustering of all cards, and who looked at what.

python examples/schools.py    writes schools.mcm
"""

# %% Cards have a colour and a shape. Sixteen people sort small piles of them, half of them by colour, half by shape.
import numpy as np

from modicum import CrowdClustering, load
from modicum.crowd import Answers, assign, random_plan

rng = np.random.default_rng(0)
cards = np.array(
    [f"{colour} {shape} {n}" for colour in ("red", "blue") for shape in ("disc", "star") for n in range(15)]
)
people = [
    "ann",
    "bob",
    "cem",
    "dia",
    "eve",
    "fay",
    "gil",
    "hal",
    "ida",
    "jon",
    "kim",
    "leo",
    "mia",
    "ned",
    "oda",
    "pia",
]

# %% The plan: every card is in about six piles of ten, and every pile is sorted by three people.
plan = assign(random_plan(cards, 10, 6, random_state=0), people, 3, random_state=0)
columns = {name: np.asarray(column) for name, column in plan.table().items()}
print(f"{len(plan)} piles of 10 cards, {len(columns['item']) // 10} answers")


# %% What they say. Now and then, a card ends up on the wrong pile.
def group(person, card):
    colour, shape, _ = card.split()
    if rng.random() < 0.05:
        return rng.choice(["heap 1", "heap 2"])
    return colour if people.index(person) % 2 else shape


groups = np.array([group(*row) for row in zip(columns["worker"], columns["item"], strict=True)])
answers = Answers(columns["worker"], columns["task"], columns["item"], groups)

# %% Four clusters: nobody sorted into four groups, but together they did.
crowd = CrowdClustering(random_state=0).fit_groupings(answers)
for cluster in range(crowd.n_clusters_):
    kinds = {" ".join(name.split()[:2]) for name in crowd.items_[crowd.clusters_ == cluster]}
    print(f"cluster {cluster}: {', '.join(sorted(kinds))}")
assert crowd.n_clusters_ == 4

# %% Who looked at what? Ann lumps clusters of one shape together, Bob those of one colour.
summary = crowd.worker_summary()
for person, lumps in zip(summary["worker"], summary["lumps"], strict=True):
    print(f"{person} lumps together: {', '.join(f'{a} and {b}' for a, b in lumps)}")
assert {tuple(map(tuple, lumps)) for lumps in summary["lumps"]} != {()}

# %% More answers come in: learn them on top, and save.
crowd.partial_fit([("red disc 0", "red disc 1", "ann")], [+1])
crowd.save("schools.mcm")
assert (load("schools.mcm").clusters_ == crowd.clusters_).all()
