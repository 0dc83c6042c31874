"""The candidates that parameters leave open: values of C and preparations of rows, and the machine they share."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Self

import numpy as np

from modicum.drift import Clock
from modicum.exceptions import DataError
from modicum.kernels import Kernel, Linear, Normalized, as_kernel
from modicum.kernels.stationary import Stationary
from modicum.svm.ball import Ball
from modicum.svm.balls import Balls
from modicum.svm.ellipsoid import Constant, Diagonal, Ellipsoid, Full, SparseDiagonal
from modicum.svm.first_rows import WAIT
from modicum.svm.inputs import Inputs, Raw
from modicum.svm.intercept import WithIntercept
from modicum.svm.kernel_ball import KernelBall
from modicum.svm.machine import BallMachine, Machine, Size
from modicum.svm.one_vs_rest import OneVsRest
from modicum.svm.tournament import Entrant, Tournament

RULES = (
    (10.0, False),
    (0.3, True),
    (1.0, True),
)  # what C="auto" tries; True: rows that a machine is certain of are skipped
BALL_COSTS = (0.1, 1.0, 10.0)
HALF_LIVES = (64, 256, 1024)  # what half_life="auto" tries, beside None; a finer ladder gains less than 0.2 points
STEP_COSTS = (0.1, 1.0)  # and machines without any memory but the mean, with these values of C
INPUT_MEMORY = 1024  # half-life of the means and deviations of columns that they share
WIDEST_FULL = 64  # columns, the constant included, up to which a full covariance matrix costs little
LOOKAHEAD = 10
N_INITIAL = 512


def is_linear(kernel: Any) -> bool:
    """Whether a kernel is the linear one, for which machines have weights of columns."""
    return isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear")


@dataclass(frozen=True)
class Candidates:
    """The parameters of `StreamSVC` that decide which machines learn, and from which rows."""

    C: float | str | Iterable[float]
    ellipsoid: str | None
    lookahead: int
    n_balls: int
    n_initial: int
    kernel: Any
    budget: int | str | None
    fit_intercept: bool
    center: bool | str
    scale: bool | str
    normalize: bool | str
    half_life: int | str | None

    @classmethod
    def of(cls, learner: Any) -> Self:
        return cls(**{field.name: getattr(learner, field.name) for field in fields(cls)})

    @property
    def is_linear(self) -> bool:
        return is_linear(self.kernel)

    @property
    def is_ellipsoid(self) -> bool:
        return self.ellipsoid is not None and self.is_linear and self.n_balls == 1

    @property
    def constant(self) -> float:
        """The constant column of prepared rows; 0 if there is none."""
        return float(self.fit_intercept and self.is_ellipsoid)

    @property
    def room(self) -> int:
        """First rows that balls may hold. Linear machines with a budget do not wait for rare classes: they must fit."""
        waits = self.n_initial > 1 and (self.budget is None or not self.is_linear)
        return self.n_initial * (WAIT if waits else 1)

    def check(self) -> None:
        """A ValueError if a parameter would have no effect, or contradicts another."""
        for is_wrong, why in (
            (not self.is_linear and self.n_balls > 1, "n_balls needs kernel='linear'"),
            (
                not self.is_linear and self.center is True,
                "center needs kernel='linear'; kernels take unprepared rows",
            ),
            (not self.is_linear and self.scale is True, "scale needs kernel='linear'; kernels take unprepared rows"),
            (self._names_shape and not self.is_linear, f"ellipsoid={self.ellipsoid!r} needs kernel='linear'"),
            (self._names_shape and self.n_balls > 1, f"ellipsoid={self.ellipsoid!r} excludes n_balls={self.n_balls}"),
            (self.scale is True and self.center is False, "scale=True needs center=True: it divides by deviations"),
            (self.is_ellipsoid and self.lookahead != LOOKAHEAD, "lookahead is for balls: it needs ellipsoid=None"),
            (self.is_ellipsoid and self.n_initial != N_INITIAL, "n_initial is for balls: it needs ellipsoid=None"),
            (
                self.half_life is not None and not self.is_ellipsoid,
                "half_life needs an ellipsoid; a ball encloses all rows that it has seen, and can't forget one",
            ),
            (self.n_balls > 1 and self.lookahead != LOOKAHEAD, "lookahead needs n_balls=1"),
        ):
            if is_wrong:
                raise ValueError(f"StreamSVC: {why}.")

    @property
    def _names_shape(self) -> bool:
        return self.ellipsoid in ("diagonal", "full")

    # ---- what is tried ---------------------------------------------------------------------------

    def tournament(self, X: Any, kind: str, *, eliminate: bool) -> Tournament:
        """An entrant for each candidate, for rows like X."""
        machine, steps = self._machine(X, kind), self.steps(kind) if self.is_linear else []
        inputs: list[Raw] = [self._inputs(X, step, memory) for memory in self.memories for step in steps]
        inputs = inputs or [Raw()]
        n_steps = max(1, len(steps))
        half_life = None if self.half_life == "auto" else self.half_life
        entrants = [self._entrant(i, *rule, machine, half_life) for i in range(n_steps) for rule in self.rules]
        if self.half_life != "auto":
            return Tournament(inputs, entrants, eliminate=eliminate)
        for i in range(n_steps, 2 * n_steps):
            entrants += [self._entrant(i, self.middle_cost, False, machine, memory) for memory in HALF_LIVES]
            entrants += [self._entrant(i, C, False, Constant(len(machine.coef)), None) for C in self.step_costs]
        return Tournament(inputs, entrants, eliminate=eliminate)

    def _inputs(self, X: Any, step: tuple[bool, bool, bool], memory: int | None) -> Inputs:
        center, scale, normalize = step
        clock = None if memory is None else Clock(memory)
        return Inputs(X.shape[1], center=center, scale=scale, normalize=normalize, constant=self.constant, clock=clock)

    def _entrant(self, inputs: int, C: float, skips_certain: bool, machine: Machine, half_life: Any) -> Entrant:
        own = machine.copied()
        if isinstance(own, Ellipsoid):
            own.skips_certain = skips_certain
        return Entrant(inputs, C, OneVsRest(own), None if half_life is None else Clock(int(half_life)))

    @property
    def memories(self) -> list[int | None]:
        """Half-lives of the means and deviations that rows are prepared with."""
        if self.half_life == "auto":
            return [None, INPUT_MEMORY]
        return [None if self.half_life is None else int(self.half_life)]

    @property
    def record_memory(self) -> int | None:
        """Half-life of the rows that probabilities are calibrated on."""
        return HALF_LIVES[1] if self.half_life == "auto" else self.memories[0]

    @property
    def n_entrants(self) -> int:
        """How many entrants there are for each combination of preparing steps."""
        alone = len(self.rules)
        return alone + len(HALF_LIVES) + len(self.step_costs) if self.half_life == "auto" else alone

    @property
    def rules(self) -> list[tuple[float, bool]]:
        """Values of C, and whether rows are skipped that the machine is certain of."""
        if isinstance(self.C, str):
            return list(RULES) if self.is_ellipsoid else [(C, False) for C in BALL_COSTS]
        return [(C, False) for C in np.atleast_1d(np.asarray(self.C, np.float64)).tolist()]

    @property
    def costs(self) -> list[float]:
        """Values of C for machines that skip nothing."""
        return [C for C, skips_certain in self.rules if not skips_certain]

    @property
    def middle_cost(self) -> float:
        """The only C of a candidate that forgets: the covariance of few rows hardly depends on it."""
        return sorted(self.costs)[len(self.costs) // 2]

    @property
    def step_costs(self) -> list[float]:
        """Values of C for machines of constant covariance; it decides the size of their steps."""
        return list(STEP_COSTS) if isinstance(self.C, str) else self.costs

    def steps(self, kind: str) -> list[tuple[bool, bool, bool]]:
        """Whether to center, scale and normalize: the combinations to try."""
        if kind == "sparse":
            if self.center is True or self.scale is True:
                raise DataError(
                    "StreamSVC: sparse rows can't be centered, as they would become dense. "
                    'Leave center and scale at "auto", or make the rows dense.'
                )
            return [(False, False, normalize) for normalize in self._normalizations(False)]
        centers = [self.center] if self.center != "auto" else [True] if self.is_ellipsoid else [False, True]
        scales = [self.scale] if self.scale != "auto" else [False, True] if self.is_ellipsoid else [False]
        return [
            (bool(center), bool(scale), normalize)
            for center, scale in product(centers, scales)
            if center or not scale
            for normalize in self._normalizations(bool(scale))
        ]

    def _normalizations(self, scale: bool) -> list[bool]:
        if self.normalize != "auto":
            return [bool(self.normalize)]
        return [True, False] if scale and self.is_ellipsoid else [True]

    # ---- machines --------------------------------------------------------------------------------

    def _machine(self, X: Any, kind: str) -> Machine:
        if self.is_ellipsoid:
            width = X.shape[1] + self.fit_intercept
            return Full(width) if self._is_full(width) else (SparseDiagonal if kind == "sparse" else Diagonal)(width)
        ball: BallMachine
        if not self.is_linear:
            ball = KernelBall(self.given_kernel(kind), self.lookahead)
            ball.fit_kernel(X)
        elif self.n_balls == 1:
            ball = Ball(X.shape[1], self.lookahead)
        else:
            ball = Balls(X.shape[1], self.n_balls)
        return WithIntercept(ball) if self.fit_intercept else ball

    def _is_full(self, width: int) -> bool:
        return width <= WIDEST_FULL if self.ellipsoid == "auto" else self.ellipsoid == "full"

    def given_kernel(self, kind: str) -> Kernel:
        """The kernel before parameters are estimated from rows, normalized unless that is unwanted or needless."""
        kernel = as_kernel(self.kernel, objects=kind == "objects")
        if kind == "sparse" and not kernel.takes_sparse:
            raise DataError(f"StreamSVC: the kernel {kernel!r} takes no sparse rows. Make them dense.")
        return Normalized(kernel) if self.normalize is not False and not isinstance(kernel, Stationary) else kernel

    def past_bytes(self, n_features: int) -> int:
        """Bytes of the earlier weights of a machine, by which it is judged where labels are late."""
        return 16 * (n_features + self.fit_intercept) if self.half_life == "auto" else 0

    def linear_size(self, n_features: int) -> Size:
        """The most that a linear machine holds."""
        if self.is_ellipsoid:
            width = n_features + self.fit_intercept
            return Full.size(width) if self._is_full(width) else Diagonal.size(width)
        one = self.n_balls == 1
        ball = Ball.size(n_features, self.lookahead) if one else Balls.size(n_features, self.n_balls)
        return WithIntercept.size(ball) if self.fit_intercept else ball
