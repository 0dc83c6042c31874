"""Messages classified as they arrive: a stream of sparse rows, a class that appears late, shards that merge.

python examples/spam.py    writes spam.mcm and spam.html
"""

# %% A stream of messages. Each class has its own words among 20,000 common ones; scams appear halfway.
import os
import warnings

import numpy as np
from scipy import sparse

from modicum import Learner, StreamSVC, load
from modicum.plot import write_report

QUICK = bool(os.environ.get("MODICUM_QUICK"))
N = 6_000 if QUICK else 60_000
WORDS, PER_MESSAGE, OWN = 20_000, 40, 300
CLASSES = np.array(["ham", "scam", "spam"])
rng = np.random.default_rng(0)
own_words = rng.permutation(WORDS)[: 3 * OWN].reshape(3, OWN)


def messages(labels: np.ndarray) -> sparse.csr_matrix:
    """Word counts. One word in eight is of the class, the others are common to all."""
    common = (WORDS * rng.random((len(labels), PER_MESSAGE)) ** 3).astype(np.int64)  # some words are far more frequent
    own = own_words[labels[:, None], rng.integers(0, OWN, common.shape)]
    words = np.where(rng.random(common.shape) < 1 / 8, own, common)
    starts = PER_MESSAGE * np.arange(len(labels) + 1)
    counts = sparse.csr_matrix((np.ones(words.size), words.ravel(), starts), shape=(len(labels), WORDS))
    counts.sum_duplicates()
    return counts


def chunk(size: int, with_scams: bool) -> tuple[sparse.csr_matrix, np.ndarray]:
    labels = rng.choice([0, 1, 2], size, p=[0.6, 0.1, 0.3] if with_scams else [0.7, 0.0, 0.3])
    return messages(labels), CLASSES[labels]


test_rows, test_labels = chunk(N // 10, with_scams=True)

# %% Chunk by chunk. Every row is classified before it is learned, so accuracy costs no test set.
warnings.filterwarnings("ignore", message=".*only .* of the rows are of class")  # scams are rare at first
model = StreamSVC(random_state=0)
for i in range(20):
    model.partial_fit(*chunk(N // 20, with_scams=i >= 10))
    if i in (0, 9, 10, 19):
        lately = model.history_["accuracy"][-5:].mean()
        print(f"{model.n_seen_:>7,} rows, classes {', '.join(model.classes_)}: {lately:.1%} of the latest correct")
print(f"{model.nbytes_:,} bytes held, settings in use: {model.candidates_[0]}")
print(f"new messages: {model.score(test_rows, test_labels):.1%} correct")

# %% What is it unsure of? A person should decide about messages with a low probability.
probability = model.predict_proba(test_rows).max(axis=1)
right = model.predict(test_rows) == test_labels
for low, high in ((0.0, 0.8), (0.8, 0.95), (0.95, 1.0)):
    some = (probability > low) & (probability <= high)
    print(f"probability {low} to {high}: {some.sum():,} messages, {right[some].mean():.1%} correct")

# %% Save and resume: the result is the same as without interruption.
model.save("spam.mcm")
tomorrow = load("spam.mcm")
more = chunk(500, with_scams=True)
assert tomorrow.partial_fit(*more).to_bytes() == model.partial_fit(*more).to_bytes()
write_report("spam.html", model, source="generated messages")


# %% Four shards of the stream, learned with the same settings and merged.
def learn_shard(seed: int) -> bytes:
    shard = StreamSVC(1.0, random_state=seed)
    return shard.fit(*chunk(N // 4, with_scams=True)).to_bytes()


first, *others = [Learner.from_bytes(learn_shard(seed)) for seed in range(4)]
alone = first.score(test_rows, test_labels)
for other in others:
    first.merge(other)
together = first.score(test_rows, test_labels)
print(f"one shard: {alone:.1%} correct; four merged: {together:.1%}")
assert together > alone
print("see spam.html")
