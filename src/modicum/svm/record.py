"""Accuracy on rows before they were learned (dawid1984, gama2013)."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from modicum._jit.classify import note
from modicum.rules.invariants import MOST, Array, Whole
from modicum.state.part import Part
from modicum.svm.one_vs_rest import n_machines

SAMPLE = 1000  # decision values kept: enough to fit one number to within a few percent
SAMPLE_AGES = 8  # the sample of a stream of so many half-lives: 15 in 16 of it are from the newer half
LEAST_PULL = 1e-5  # of offsets towards 0, so that those of a class without rows are finite
BINS = 256  # of the accuracy curve; bins become twice as wide when the stream has filled them


class Record(Part):
    """Counts by class, accuracy over the stream and decision values, of rows classified before they were learned.

    The sample of decision values prefers newer rows, as the machines were better by then. It restarts at a new class.
    """

    _invariants = {
        "confusion": Array("int64", "n_classes", "n_classes", low=0),
        "wrong": Array("int64", BINS, low=0),
        "bin_width": Whole(1),
        "seen": Whole(0, lambda its: BINS * its["bin_width"]),
        "decisions": Array("float64", SAMPLE, lambda its: n_machines(its["n_classes"])),
        "codes": Array("int64", SAMPLE, low=0, below=lambda its: max(1, its["n_classes"])),
        "sampled": Whole(),
    }

    def __init__(self) -> None:
        self.confusion = np.zeros((0, 0), np.int64)
        self.wrong = np.zeros(BINS, np.int64)
        self.bin_width = 1
        self.seen = 0
        self.reset_sample(0)

    def reset_sample(self, n_columns: int) -> None:
        self.decisions = np.zeros((SAMPLE, n_columns))
        self.codes = np.zeros(SAMPLE, np.int64)
        self.sampled = 0  # rows since then: slots are first filled in order

    @staticmethod
    def size(n_classes: int) -> int:
        """Bytes held."""
        return 8 * (n_classes**2 + BINS + SAMPLE * (1 + n_machines(n_classes)) + 3)

    def add_class(self, n_columns: int) -> None:
        self.confusion = np.pad(self.confusion, (0, 1))
        self.reset_sample(n_columns)

    def add(
        self, decisions: np.ndarray, codes: np.ndarray, rng: np.random.Generator, half_life: int | None = None
    ) -> None:
        """Record decision values of rows from before they were learned; with a half-life, sample the latest ones."""
        self._widen(self.seen + len(codes))
        note(
            decisions,
            codes,
            self.confusion,
            self.wrong,
            self.bin_width,
            self.seen,
            self.sampled,
            MOST if half_life is None else SAMPLE_AGES * half_life,
            rng.random((len(codes), 2)),
            self.decisions,
            self.codes,
        )
        self.seen += len(codes)
        self.sampled += len(codes)

    def _widen(self, rows: int) -> None:
        while rows > BINS * self.bin_width:
            pairs = self.wrong.reshape(-1, 2).sum(axis=1)
            self.wrong = np.concatenate([pairs, np.zeros_like(pairs)])
            self.bin_width *= 2

    def curve(self) -> dict[str, np.ndarray]:
        """Rows seen, and the accuracy since the point before; the first column is the axis."""
        n_bins = -(-self.seen // self.bin_width)
        rows = np.minimum(self.bin_width * np.arange(1, n_bins + 1), self.seen)
        counts = np.diff(rows, prepend=0)
        return {"n_seen": rows, "accuracy": 1.0 - self.wrong[:n_bins] / counts}

    @property
    def accuracy(self) -> float:
        """Share of all rows that were classified correctly before they were learned."""
        return float(np.trace(self.confusion) / max(1, self.confusion.sum()))

    @property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Decision values of some rows, and codes of their classes."""
        in_use = min(self.sampled, SAMPLE)
        return self.decisions[:in_use], self.codes[:in_use]

    def merge(self, other: "Record", codes: np.ndarray, rng: np.random.Generator) -> None:
        """Absorb the record of another stream, whose class i is our class codes[i]; its rows count as later ones."""
        self.confusion[np.ix_(codes, codes)] += other.confusion
        curve, before = other.curve(), self.seen
        self._widen(before + other.seen)
        # mistakes are spread evenly over the rows of their bin, then rounded so that their sum stays
        ends = before + np.append(0, curve["n_seen"])
        total = np.append(0, np.cumsum(other.wrong[: len(curve["n_seen"])]))
        edges = np.minimum(self.bin_width * np.arange(BINS + 1), ends[-1])
        self.wrong += np.diff(np.floor(np.interp(edges, ends, total) + 1e-9).astype(np.int64))
        self.seen += other.seen
        if len(codes) == len(self.confusion):
            self._merge_sample(other, codes, rng)

    def _merge_sample(self, other: "Record", codes: np.ndarray, rng: np.random.Generator) -> None:
        """Give each side slots in proportion to its number of rows."""
        theirs, labels = other.sample
        if len(codes) == 2:
            theirs = theirs if codes[1] == 1 else -theirs
        elif len(codes) > 2:
            theirs = theirs[:, codes.argsort()]
        ours, mine = self.sample
        share = other.sampled / max(1, self.sampled + other.sampled)
        keep = rng.permutation(len(ours))[: SAMPLE - min(round(share * SAMPLE), len(theirs))]
        take = rng.permutation(len(theirs))[: SAMPLE - len(keep)]
        self.sampled += other.sampled
        decisions, slots = self.sample
        decisions[:] = np.concatenate([ours[keep], theirs[take]])
        slots[:] = np.concatenate([mine[keep], codes[labels[take]]])


def likeliest_sharpness(decisions: np.ndarray, codes: np.ndarray) -> float:
    """The factor of decision values that makes the classes of a sample most likely (guo2017: temperature scaling)."""
    if not len(codes):
        return 1.0
    scale = 1.0 / (float(np.abs(decisions).mean()) or 1.0)

    def loss(log_factor: float) -> float:
        logs = log_probabilities(scale * np.exp(log_factor) * decisions)
        return -float(logs[np.arange(len(codes)), codes].mean())

    return scale * float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))


def likeliest_offsets(decisions: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
    """The factor and the offsets, one per column, that make the classes most likely if `counts` are their frequencies.

    Machines of weighted classes decide as if these were as frequent as they weigh; offsets undo that.
    """
    if not len(codes):
        return 1.0, np.zeros(decisions.shape[1:])
    factor, rows = likeliest_sharpness(decisions, codes), np.arange(len(codes))
    shares = counts / counts.sum() / np.maximum(np.bincount(codes, minlength=len(counts)), 1)
    weights = shares[codes] / shares[codes].sum()  # the sample may have more or fewer of a rare class

    def loss(params: np.ndarray) -> float:
        logs = log_probabilities(factor * np.exp(params[0]) * decisions + params[1:])
        return -float(weights @ logs[rows, codes]) + LEAST_PULL * float(params[1:] @ params[1:])

    start = np.zeros(1 + (1 if decisions.ndim == 1 else decisions.shape[1]))
    bounds = [(-6.0, 6.0)] + [(-50.0, 50.0)] * (len(start) - 1)
    found = minimize(loss, start, method="L-BFGS-B", bounds=bounds).x
    return factor * float(np.exp(found[0])), found[1:]


def log_probabilities(decisions: np.ndarray) -> np.ndarray:
    """Log-probabilities of two classes from one decision value, or of several from one each."""
    if decisions.ndim == 1:
        decisions = np.column_stack([np.zeros(len(decisions)), decisions])
    return log_softmax(decisions, axis=1)


def mistakes(decisions: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """1 for a row whose class is not that of its decision values, one per class or a single one, else 0."""
    if not decisions.shape[1]:  # there is one class so far
        return np.zeros(len(codes))
    chosen = decisions[:, 0] > 0.0 if decisions.shape[1] == 1 else decisions.argmax(axis=1)
    return (chosen != codes).astype(np.float64)
