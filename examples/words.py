"""Words that represent a vocabulary: any objects, any dissimilarity. Here strings and the edit distance.

pip install "modicum[text]"
python examples/words.py
"""

# %% The words of Python's own help pages, each with the number of times it occurs.
import os
import re
from collections import Counter
from pydoc_data.topics import topics

import numpy as np

from modicum import ExemplarClustering

QUICK = bool(os.environ.get("MODICUM_QUICK"))
counts = Counter(word for text in topics.values() for word in re.findall(r"[a-z]{4,}", text.lower()))
words, weights = zip(*counts.most_common(150 if QUICK else 800), strict=True)


# %% The distance: the share of letters to insert, drop or change to get from one word to the other.
# A word that occurs often counts often. 200 validation words are kept.
model = ExemplarClustering(8, n_validation=200, dissimilarity="edit-distance", random_state=0)
model.fit(list(words), sample_weight=np.array(weights))

# %% Each exemplar with some of the words it represents.
labels = model.predict(list(words))
for i in np.argsort(-model.cluster_sizes_):
    friends = [word for word, label in zip(words, labels, strict=True) if label == i and word != model.exemplars_[i]]
    print(f"{model.cluster_sizes_[i]:8,.0f}  {model.exemplars_[i]:14}{' '.join(friends[:6])}")
