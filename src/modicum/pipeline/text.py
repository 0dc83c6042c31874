"""Hashed words."""

import numpy as np

from modicum.rules.invariants import Whole
from modicum.state.part import Part


class HashedText(Part):
    _invariants = {"width": Whole(1)}

    def __init__(self, width=65536):
        self.width = width

    def learn(self, texts):
        pass

    def _v(self, w):
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(n_features=w, ngram_range=(1, 2), dtype=np.float32)

    def encode(self, texts):
        return self._v(self.width).transform([t or "" for t in texts])

    def encode_dense(self, texts, width):
        return self._v(width).transform([t or "" for t in texts]).toarray()
