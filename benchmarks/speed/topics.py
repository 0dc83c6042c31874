"""Topics of 20 Newsgroups in one pass, in the memory of a tenth of the documents, against scikit-learn and Gensim.

    python benchmarks/speed/topics.py [--quick] [--peer-python gensim=INTERPRETER]

Word counts of 10,864 training and 7,202 test documents with at least 10 of 1,994 words. Judged by document completion:
the words of each test document are split in two at random; topic proportions are inferred from one half by variational
inference with fixed topics, the same for all contestants, and the perplexity per word of the other half is reported.
Settings were chosen with 1,000 training documents set aside, none by the test documents.

Ours holds 1,086 documents, or 543; the number of topics is inferred. Streams: in the order of the file, by newsgroup;
shuffled; and ten times as long, resampled with replacement. Peers have 20, 50 or 100 topics, or infer the number, and
take one pass in chunks of 256, except for "batch", which has 20 passes with everything in memory. A process for each
run, 2 threads. Timed: from counts in memory to topics, after the loops are compiled. Not timed: imports, the data.
"""

import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Meter, Result, arguments, data_file, figures
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/topics.py"
CHUNK, PEER_TOPICS, LEAST_WORDS = 256, (20, 50, 100), 10


# ---- documents ------------------------------------------------------------------------------------------------


def newsgroups():
    """Word counts of training and of test documents."""
    from scipy.sparse import csr_matrix

    arrays, parts = data_file("newsgroups20_bow.npz"), []
    for part in ("train", "test"):
        numbers = arrays[f"{part}_data"].astype(np.float64), arrays[f"{part}_indices"], arrays[f"{part}_indptr"]
        X = csr_matrix(numbers, tuple(arrays[f"{part}_shape"]))[:, 1:]  # column 0 marks ends of sentences
        parts.append(X[np.asarray(X.sum(axis=1)).ravel() >= LEAST_WORDS].tocsr())
    return parts


def ordered(X, order, seed):
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    if order in ("ten times", "a tenth of it"):
        resampled = X[rng.integers(n, size=10 * n)]
        return resampled if order == "ten times" else resampled[:n]
    return X[rng.permutation(n)] if order == "shuffled" else X


# ---- the judge ------------------------------------------------------------------------------------------------


def halves(X, seed=0):
    """The words of each document, split in two at random."""
    one = X.copy()
    one.data = np.random.default_rng(seed).binomial(X.data.astype(int), 0.5).astype(np.float64)
    two = (X - one).tocsr()
    one.eliminate_zeros()
    two.eliminate_zeros()
    return one, two


def completion_perplexity(topics, alpha, X, max_iter=50):
    """Perplexity per word of one half of each document, given the other; topics are rows that sum to 1."""
    from scipy.special import psi

    given, asked = halves(X)
    total = words = 0.0
    for i in range(X.shape[0]):
        known = slice(given.indptr[i], given.indptr[i + 1])
        wanted = slice(asked.indptr[i], asked.indptr[i + 1])
        if known.start == known.stop or wanted.start == wanted.stop:
            continue
        beta, n = topics[:, given.indices[known]], given.data[known]
        gamma, step = alpha + n.sum() / len(alpha), np.inf
        for _ in range(max_iter):
            theta = np.exp(psi(gamma) - psi(gamma.sum()))
            updated = alpha + theta * (beta @ (n / (theta @ beta + 1e-100)))
            step, gamma = np.abs(updated - gamma).mean(), updated
            if step < 1e-3:
                break
        expected = gamma / gamma.sum() @ topics[:, asked.indices[wanted]]
        total += asked.data[wanted] @ np.log(expected + 1e-100)
        words += asked.data[wanted].sum()
    return float(np.exp(-total / words))


# ---- contestants: (X, memory, seed) -> topics, alpha, facts ---------------------------------------------------


def swept(X, memory, seed):
    from modicum import MemoryBoundedTopicModel

    model, trail = MemoryBoundedTopicModel("multinomial", budget=memory, random_state=seed), []
    chunks = (X[first : first + CHUNK] for first in range(0, X.shape[0], CHUNK))
    model.learn(chunks, lambda model: trail.append((model.n_seen_, model.n_topics_, model.nbytes_, model.n_retained_)))
    facts = {"trail": trail, "held_bytes": model.nbytes_, "most_held": max(n for *_, n in trail)}
    return model.components_, model.alpha_, facts


def unigram(X, memory, seed):
    return normalized(np.asarray(X.sum(axis=0)) + 0.1), np.ones(1), {}


def online_lda(X, memory, seed, n_topics):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, learning_method="online", total_samples=X.shape[0], random_state=seed)
    for first in range(0, X.shape[0], CHUNK):
        model.partial_fit(X[first : first + CHUNK])
    return normalized(model.components_), np.full(n_topics, 1 / n_topics), {}


def batch_lda(X, memory, seed, n_topics):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, learning_method="batch", max_iter=20, random_state=seed).fit(X)
    return normalized(model.components_), np.full(n_topics, 1 / n_topics), {}


def hdp(X, memory, seed):
    from gensim.models import HdpModel

    bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    bags = [list(zip(X.indices[a:b].tolist(), X.data[a:b].astype(int).tolist(), strict=True)) for a, b in bounds]
    model = HdpModel(bags, {w: str(w) for w in range(X.shape[1])}, random_state=seed, chunksize=CHUNK)
    alpha, topics = model.hdp_to_lda()
    return topics, np.asarray(alpha) + 1e-6, {}


def normalized(sums):
    return sums / sums.sum(axis=1, keepdims=True)


STREAMS = ("file", "shuffled")
OURS_HERE = {"1,086 documents": 1086, "543 documents": 543}
PEERS = {
    "unigram": (unigram, "numpy"),
    **{f"scikit-learn, online, {k} topics": (partial(online_lda, n_topics=k), "scikit-learn") for k in PEER_TOPICS},
    **{f"scikit-learn, batch, {k} topics": (partial(batch_lda, n_topics=k), "scikit-learn") for k in PEER_TOPICS[1:]},
    "Gensim, HDP": (hdp, "gensim"),
}
CONTESTANTS = {
    f"modicum, {words}, {order}": (swept, "modicum", order, n) for words, n in OURS_HERE.items() for order in STREAMS
}
CONTESTANTS |= {
    f"modicum, 1,086 documents, {order}": (swept, "modicum", order, 1086) for order in ("ten times", "a tenth of it")
}
CONTESTANTS |= {f"{name}, {order}": (*peer, order, None) for name, peer in PEERS.items() for order in STREAMS}
for name in [name for name in PEERS if name == "unigram" or "batch" in name]:  # the order does not matter
    del CONTESTANTS[f"{name}, shuffled"]
COLUMNS = [
    ("contestant", "contestant", ""),
    ("order", "order", ""),
    ("perplexity", "perplexity", ".0f"),
    ("topics", "topics", "d"),
    ("most_held", "documents held", ",d"),
    ("seconds", "seconds", ".1f"),
    ("status", "", ""),
]


def worker(name, n, seed):
    """Run one contestant and print one JSON line."""
    run, _, order, memory = CONTESTANTS[name]
    train, test = newsgroups()
    train = train[np.linspace(0, train.shape[0] - 1, n).astype(int)] if n < train.shape[0] else train
    X = ordered(train, order, seed)
    warnings.simplefilter("ignore")
    run(X[:600], memory, seed)  # compiles
    with Meter() as meter:
        topics, alpha, facts = run(X, memory, seed)
    perplexity = completion_perplexity(np.asarray(topics), np.asarray(alpha, float), test)
    print(json.dumps({**meter.facts(), **facts, "topics": len(alpha), "perplexity": perplexity}))


# ---- the table ------------------------------------------------------------------------------------------------


def summary(name, run):
    label, order = name.rsplit(", ", 1)
    row = {"contestant": label, "order": order, "is_ours": name.startswith("modicum"), **run}
    return row | {"status": "" if run["status"] == "ok" else run["status"]}


def bars(result, rows):
    found = {f"{row['contestant']}, {row['order']}": row for row in rows if not row["status"]}
    wishes = {
        "modicum, 1,086 documents, file": (760, "in the order of the file"),
        "modicum, 1,086 documents, shuffled": (770, "shuffled"),
        "modicum, 543 documents, file": (770, "half the memory, in the order of the file"),
        "modicum, 543 documents, shuffled": (770, "half the memory, shuffled"),
    }
    for name, (most, words) in wishes.items():
        row = found.get(name)
        value = f"{row['perplexity']:.0f}, {row['topics']} topics" if row else "did not run"
        result.bar(f"perplexity of at most {most}, {words}", value, row and row["perplexity"] <= most)
    row = found.get("modicum, 1,086 documents, file")
    result.bar("at most 30 s", f"{row['seconds']:.1f} s" if row else "did not run", row and row["seconds"] <= 30)
    long, short = (found.get(f"modicum, 1,086 documents, {order}") for order in ("ten times", "a tenth of it"))
    if long and short:
        values = f"{short['perplexity']:.0f} and {long['perplexity']:.0f}"
        met = long["perplexity"] <= short["perplexity"]
        result.bar("ten times the stream, resampled: perplexity not worse than after a tenth of it", values, met)
        sizes = [size for _, _, size, _ in long["trail"]]
        half = max(sizes[: len(sizes) // 2])
        measured = f"{half:,} and {max(sizes):,} bytes"
        result.bar("held bytes at most 2% above those of the first half", measured, max(sizes) <= 1.02 * half)


def plot(result, rows):
    """Perplexity against seconds, and topics along the streams."""
    plt = figures()
    figure, (scores, topics) = plt.subplots(1, 2, figsize=(10, 4))
    for row in rows:
        if row["status"]:
            continue
        color, full = (OURS if row["is_ours"] else PEER), row["order"] == "file"
        scores.plot(row["seconds"], row["perplexity"], "o", ms=6, color=color, mfc=color if full else "white")
        label = row["contestant"].removeprefix("modicum, ")
        scores.annotate(label, (row["seconds"], row["perplexity"]), (5, 3), textcoords="offset points", color=GREY)
        if "trail" in row and row["order"] in STREAMS:
            seen, number, *_ = np.array(row["trail"]).T
            topics.plot(seen, number, color=OURS, ls="-" if full else "--", label=f"{label}, {row['order']}")
    scores.set(xlabel="seconds", xscale="log", ylabel="completion perplexity; hollow: not in the order of the file")
    topics.set(xlabel="documents seen", ylabel="topics", title="Topics along the stream")
    topics.legend()
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, **(PEER_OPTIONS | {"limit": {"type": float, "default": 900.0}}))
    args.repeat = 1
    n = 2000 if args.quick else 10_864
    result = Result("topics", COMMAND, args, n=n, n_words=1994, chunk=CHUNK)
    packages = {name: package for name, (_, package, _, _) in CONTESTANTS.items()}
    runs = run_rounds(__file__, packages, lambda turn: (n, args.seed), args, threads=(2,))
    rows = [summary(name, done[-1]) for (name, _), done in runs.items()]
    result.table("newsgroups", COLUMNS, rows)
    bars(result, rows)
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
