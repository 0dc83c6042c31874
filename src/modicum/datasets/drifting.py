"""Streams that change, generated lazily: still worlds, worlds that turn, and their changes from one to another.

A *world* is a function of row numbers and a random generator that returns their X and y. `Generated` makes a stream
of it, of any length and without memory of its rows; `changing` makes one world of several.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist

import numpy as np

World = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]

BLOCK = 1_000  # rows drawn together, whatever the size of chunks, so that this does not change rows
THRESHOLDS = (8.0, 9.0, 7.0, 9.5)  # of the four concepts of street2001


class Generated:
    """Chunks (X, y) of the first `n_rows` rows of a world: a source for `modicum.stream` that can be read again.

    Rows depend on `random_state` and their number alone, not on `chunk_size`.

    Examples
    --------
    >>> import modicum
    >>> from modicum.datasets import Generated, sea
    >>> rows = modicum.stream(Generated(sea(0), 2500), chunk_size=1000)
    >>> [chunk.X.shape for chunk in rows]
    [(1000, 3), (1000, 3), (500, 3)]
    """

    def __init__(self, world: World, n_rows: int, *, chunk_size: int = BLOCK, random_state: int = 0):
        self.world, self.n_rows, self.chunk_size, self.random_state = world, n_rows, chunk_size, random_state

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        held, block = self._block(0), 0
        for first in range(0, self.n_rows, self.chunk_size):
            size = min(self.chunk_size, self.n_rows - first)
            parts, missing = [held], size - len(held[0])
            while missing > 0:
                block, missing = block + 1, missing - BLOCK
                parts.append(self._block(block))
            X, y = map(np.concatenate, zip(*parts, strict=True))
            yield X[:size], y[:size]
            held = X[size:], y[size:]

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows and their targets, in memory."""
        X, y = zip(*self, strict=True)
        return np.concatenate(X), np.concatenate(y)

    def _block(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([self.random_state, number])
        return self.world(np.arange(number * BLOCK, (number + 1) * BLOCK), rng)


def sea(concept: int, *, noise: float = 0.1) -> World:
    """One of the four concepts of street2001: three columns from 0 to 10, the third irrelevant, and classes 0 and 1.

    The class is 1 where the first two columns add up to more than 8, 9, 7 or 9.5, by `concept` from 0 to 3. A fraction
    `noise` of the rows has the other class.
    """
    threshold = THRESHOLDS[concept]

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(0, 10, (len(rows), 3))
        return X, _flipped((X[:, 0] + X[:, 1] > threshold).astype(int), noise, rng)

    return world


def hyperplane(n_columns: int = 10, *, turn: float = 0.0, noise: float = 0.05, random_state: int = 0) -> World:
    """Normal rows on two sides of a plane through 0 that turns by `turn` degrees per 1,000 rows; classes 0 and 1.

    A fraction `noise` of the rows has the other class. The plane turns within two random directions, so that one that
    stands still at an angle a to it classifies a share a / 180 of rows of no noise wrong (after hulten2001, where
    rows are uniform and weights change one by one).
    """
    normal = _turning(n_columns, turn, random_state)

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(len(rows), n_columns))
        return X, _flipped((np.einsum("ij,ij->i", X, normal(rows)) > 0).astype(int), noise, rng)

    return world


def autocorrelated(
    n_columns: int = 8, *, same: float = 0.85, separability: float = 0.76, turn: float = 0.0, random_state: int = 0
) -> World:
    """Rows of classes 0 and 1 that come in runs, as prices rise and fall: the next class is the `same` with this share.

    Rows are from two normal clusters of which the best rule that looks at a row alone classifies a share `separability`
    correctly; the line between their centers turns by `turn` degrees per 1,000 rows. Every 1,000th class is drawn
    afresh.
    """
    direction, half_way = _turning(n_columns, turn, random_state), NormalDist().inv_cdf(separability)

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        changes = rng.random(len(rows)) >= same
        changes[0] = rng.random() < 0.5
        y = np.cumsum(changes) % 2
        return rng.normal(size=(len(rows), n_columns)) + half_way * (2 * y - 1)[:, None] * direction(rows), y

    return world


def linear(n_columns: int = 10, *, turn: float = 0.0, noise: float = 0.3, random_state: int = 0) -> World:
    """Normal rows, and targets that are linear in them: weights of length 1 that turn by `turn` degrees per 1,000 rows.

    Targets have normal noise of standard deviation `noise`. Weights that stand still at an angle a have a mean squared
    error of 2 - 2 cos(a) + noise**2.
    """
    weights = _turning(n_columns, turn, random_state)

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(len(rows), n_columns))
        return X, np.einsum("ij,ij->i", X, weights(rows)) + rng.normal(0, noise, len(rows))

    return world


def friedman(shift: int = 0, *, noise: float = 1.0) -> World:
    """Ten uniform columns and the targets of friedman1991, eq. 61: five columns count, those from `shift` on.

    10 sin(pi a b) + 20 (c - 0.5)**2 + 10 d + 5 e, plus normal noise of standard deviation `noise`. Another `shift`,
    from 0 to 9, is another concept on the same rows.
    """

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.random((len(rows), 10))
        a, b, c, d, e = np.roll(X, -shift, axis=1).T[:5]
        y = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        return X, y + rng.normal(0, noise, len(rows))

    return world


def changing(worlds: Sequence[World], positions: Sequence[int], *, width: int = 0) -> World:
    """One world after another: `worlds[i]` ends and `worlds[i + 1]` begins at row `positions[i]`.

    With a `width` a change is gradual: rows are from the new world with a probability that rises along a logistic curve
    from 12% to 88% within `width` rows around its position (bifet2009). A world that is listed again comes back.

    Examples
    --------
    >>> from modicum.datasets import Generated, changing, sea
    >>> back_and_forth = changing([sea(2), sea(3), sea(2)], [1000, 2000])
    >>> X, y = Generated(back_and_forth, 3000).rows()
    """
    if len(positions) != len(worlds) - 1:
        raise ValueError(
            f"changing: {len(worlds)} worlds have {len(worlds) - 1} changes; got {len(positions)} positions."
        )

    def world(rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        which = np.zeros(len(rows), int)
        for number, position in enumerate(positions, 1):
            which[rng.random(len(rows)) < _begun(rows - position, width)] = number
        present = np.unique(which)
        parts = [worlds[number](rows[which == number], rng) for number in present]
        order = np.argsort(np.concatenate([np.flatnonzero(which == number) for number in present]))
        return tuple(np.concatenate(part)[order] for part in zip(*parts, strict=True))  # type: ignore[return-value]

    return world


def _begun(after: np.ndarray, width: int) -> np.ndarray:
    """The probability that the next world has begun, for rows so many `after` its position."""
    return 0.5 * (1 + np.tanh(2 * after / width)) if width else (after >= 0).astype(float)


def _flipped(y: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Classes 0 and 1, a fraction of them changed to the other one."""
    return y ^ (rng.random(len(y)) < noise)


def _turning(n_columns: int, turn: float, random_state: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function of row numbers: unit vectors, one per row, that turn from one random direction to another."""
    rng = np.random.default_rng(random_state)
    start, other = np.linalg.qr(rng.normal(size=(n_columns, 2)))[0].T  # at right angles

    def directions(rows: np.ndarray) -> np.ndarray:
        angle = np.deg2rad(turn * rows / 1000)[:, None]
        return np.cos(angle) * start + np.sin(angle) * other

    return directions
