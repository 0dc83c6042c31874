"""Topics of a stream of texts, and texts that are similar, in the memory of a few hundred of them.

python examples/newsgroups.py

Reads counts of words of 20 Newsgroups from newsgroups20_bow.npz in the folder MODICUM_DATA. If it is not there, counts
the words of Python's own help pages.
"""

# %% Documents: rows of a sparse matrix that say how often each word occurs.
import os
from pathlib import Path
from pydoc_data.topics import topics as help_pages

import numpy as np
from scipy.sparse import csr_matrix

from modicum import MemoryBoundedTopicModel, stream
from modicum.pipeline import WordCounts

QUICK = bool(os.environ.get("MODICUM_QUICK"))
source = Path(os.environ.get("MODICUM_DATA", ".")) / "newsgroups20_bow.npz"
if source.exists() and not QUICK:
    held = np.load(source)
    counts = csr_matrix((held["train_data"], held["train_indices"], held["train_indptr"]), held["train_shape"])
    counts, vocabulary = counts[:, 1:].astype(np.float32), held["vocab"][1:]  # column 0 marks ends of sentences
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() >= 10]
else:
    texts = [part for page in help_pages.values() for part in page.split("\n\n") if len(part.split()) > 30]
    counter = WordCounts(n_words=2000).fit(texts)
    counts, vocabulary = counter.transform(texts), counter.get_feature_names_out()
print(f"{counts.shape[0]:,} documents, {int(counts.sum()):,} words, {counts.shape[1]:,} different ones")

# %% One pass. A tenth of the documents is held at most; the number of topics is learned.
n_train = int(0.9 * counts.shape[0])
order = np.random.default_rng(0).permutation(counts.shape[0])  # the last ones are not learned
train, test = counts[order[:n_train]], counts[order[n_train:]]
model = MemoryBoundedTopicModel("multinomial", budget=n_train // 10, random_state=0)
model.fit(stream(train, chunk_size=256))
print(f"{model.n_topics_} topics, {model.n_retained_:,} documents held, {model.nbytes_ / 1e6:.1f} MB")
one = MemoryBoundedTopicModel("multinomial", budget=n_train // 10, max_topics=1, random_state=0).fit(train)
print(f"perplexity of new documents: {model.perplexity(test):.0f}, with one topic for all {one.perplexity(test):.0f}")

# %% Topics: words that are frequent in one, and more so than elsewhere.
lift = model.components_ * np.log(model.components_ / (model.weights_ @ model.components_))
for k in np.argsort(-model.weights_)[:12]:
    print(f"{model.weights_[k]:6.1%}  {' '.join(vocabulary[np.argsort(-lift[k])[:9]])}")

# %% Documents similar to a new one. Those of the index are described by their topics: a number for each.
index = model.index(train)
longest = np.argsort(-np.asarray(test.sum(axis=1)).ravel())[:3]
found, _ = model.retrieve(test[longest], k=3, index=index)


def described(row):
    """The words of a document that say most about it."""
    weights = np.log1p(row.data) * np.log(counts.shape[0] / (1 + counts[:, row.indices].getnnz(axis=0)))
    return " ".join(vocabulary[row.indices[np.argsort(-weights)[:8]]])


for at, similar in zip(longest, found, strict=True):
    print(f"\nnew:     {described(test[at])}")
    for other in similar:
        print(f"similar: {described(train[other])}")
