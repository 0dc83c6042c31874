"""Loops over documents of word counts in CSR form (asuncion2009); arrays of topics have a row per word.

Each loop does the documents, or the words, of one tile, and writes to these alone: tiles can run on several threads.
"""

import math

import numpy as np

from modicum._jit import compiled_sums

FEWEST = 0.1  # words of two topics in a document, for which it matters whether they are one


@compiled_sums
def assign(first, last, starts, words, numbers, frequencies, alpha, counts, shares, ratios):
    """One update of the topic counts of documents; `shares` and `ratios` give those of their words, see `collect`."""
    n_topics = frequencies.shape[1]
    for d in range(first, last):
        for k in range(n_topics):
            shares[d, k] = counts[d, k] + alpha
            counts[d, k] = 0.0
        for i in range(starts[d], starts[d + 1]):
            w, expected = words[i], np.float32(0.0)
            for k in range(n_topics):
                expected += shares[d, k] * frequencies[w, k]
            ratio = numbers[i] / expected
            ratios[i] = ratio
            for k in range(n_topics):
                counts[d, k] += ratio * frequencies[w, k]
        for k in range(n_topics):
            counts[d, k] *= shares[d, k]


@compiled_sums
def collect(first, last, starts, documents, places, ratios, shares, frequencies, out):
    """out[w, k] = counts of word w in topic k; the word is in `documents`, with its ratios at `places`."""
    n_topics = frequencies.shape[1]
    for w in range(first, last):
        for k in range(n_topics):
            out[w, k] = 0.0
        for i in range(starts[w], starts[w + 1]):
            d, ratio = documents[i], ratios[places[i]]
            for k in range(n_topics):
                out[w, k] += ratio * shares[d, k]
        for k in range(n_topics):
            out[w, k] *= frequencies[w, k]


@compiled_sums
def score(first, last, starts, words, numbers, frequencies, alpha, counts, out):
    """out[d] = log-likelihood of the words of a document, given the topic counts of that document."""
    n_topics = frequencies.shape[1]
    for d in range(first, last):
        whole, total = 0.0, 0.0
        for k in range(n_topics):
            whole += counts[d, k] + alpha
        for i in range(starts[d], starts[d + 1]):
            expected = 0.0
            for k in range(n_topics):
                expected += (counts[d, k] + alpha) * frequencies[words[i], k]
            total += numbers[i] * math.log(expected / whole)
        out[d] = total


@compiled_sums
def compare(first, last, starts, words, numbers, frequencies, partners, together, alpha, counts, expected, out):
    """out[d, k] = change of the log-likelihood if topic k and its partner have the frequencies `together[:, k]`."""
    n_topics = frequencies.shape[1]
    for d in range(first, last):
        for i in range(starts[d], starts[d + 1]):
            total = np.float32(0.0)
            for k in range(n_topics):
                total += (counts[d, k] + alpha) * frequencies[words[i], k]
            expected[i] = total
        for k in range(n_topics):
            j, change = partners[k], 0.0
            if counts[d, j] + counts[d, k] > FEWEST:
                one, two = counts[d, j] + alpha, counts[d, k] + alpha
                for i in range(starts[d], starts[d + 1]):
                    w = words[i]
                    step = (one + two) * together[w, k] - one * frequencies[w, j] - two * frequencies[w, k]
                    change += numbers[i] * math.log1p(step / expected[i])
            out[d, k] = change
