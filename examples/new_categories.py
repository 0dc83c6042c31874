"""New categories in a stream: detected when they first appear, learned as components, and named.

python examples/new_categories.py    writes new_categories.mcm and new_categories.html
"""

# %% Handwritten digits. At first there are only zeros to fives; later also sixes to nines.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from modicum import MemoryBoundedMixture, load
from modicum.plot import write_report

CHUNK, EPOCH, CALM = 100, 200, 800  # rows of a chunk, rows between rounds, rows before new digits appear
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
rng = np.random.default_rng(0)
X, digits = load_digits(return_X_y=True)
order = rng.permutation(len(X))
calm = order[digits[order] < 6][:CALM]
order = np.append(calm, order[~np.isin(order, calm)])
X, digits = X[order], digits[order]
rows = PCA(16, random_state=0).fit(X[:EPOCH]).transform(X)  # fitted to the first rows
rows, tomorrow = rows[:-EPOCH], rows[-EPOCH:]

# %% One pass. The number of components is learned. The novelty of each chunk is measured before it is learned.
model = MemoryBoundedMixture(budget=800, epoch=EPOCH)
usual: list[float] = []  # novelty of rows before new digits appear
alarms = {}
print("   rows  components  unlike anything before")
for start in range(0, len(rows), CHUNK):
    chunk = rows[start : start + CHUNK]
    if start >= EPOCH + CHUNK:
        novelty = model.novelty(chunk)
        alarms[start] = float((novelty > np.quantile(usual, 0.98)).mean())
        event = "  <- sixes to nines begin" if start == CALM else ""
        print(f"{start:7,} {model.n_components_:11}  {alarms[start]:4.0%} {'#' * round(40 * alarms[start])}{event}")
    if EPOCH <= start < CALM:
        usual += model.novelty(chunk).tolist()
    model.partial_fit(chunk)
print(f"{model.n_seen_:,} rows seen, {model.nbytes_:,} bytes held\n")
assert alarms[CALM] == max(alarms.values())

# %% Name each component after five of its rows. A second component of ones is "one 2".
found = model.predict(rows)
for k in range(model.n_components_):
    looked_at = rng.permutation(np.flatnonzero(found == k))[:5]
    word = WORDS[np.bincount(digits[looked_at], minlength=1).argmax()]
    alike = sum(name.startswith(word) for name in model.component_names_)
    model.name_component(k, f"{word} {alike + 1}" if alike else word)
for k in np.argsort(-model.weights_):
    print(f"{model.weights_[k]:6.1%}  {model.component_names_[k]}")
words = [name.split()[0] for name in model.table(tomorrow)["name"]]
right = np.mean([word == WORDS[digit] for word, digit in zip(words, digits[-EPOCH:], strict=True)])
print(f"{model.n_components_} names are correct for {right:.0%} of the held-out rows\n")

# %% Save, load, and continue the stream: names are kept, and components found later have numbers.
model.save("new_categories.mcm")
later = load("new_categories.mcm").learn(tomorrow)
kept = [name for name in later.component_names_ if name in model.component_names_]
found_since = [name for name in later.component_names_ if name not in kept]
print(f"after {later.n_seen_:,} rows {len(kept)} components have their names; found since: {found_since}")
write_report("new_categories.html", model, source="digits, only zeros to fives at first")
print("see new_categories.html")
