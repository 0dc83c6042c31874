"""The budget of balls with a kernel: how many core vectors each may keep."""

from collections.abc import Callable
from dataclasses import dataclass

from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget, format_bytes, sufficient_bytes
from modicum.svm.first_rows import ROW_NUMBERS
from modicum.svm.kernel_ball import KernelBall

CORE_VECTORS = 1000  # per ball without a budget: their kernel matrix and its inverse take 16 MB


@dataclass(frozen=True)
class CoreLimits:
    """How rows are shared among balls: those of the budget evenly, or without a budget 1,000 to each.

    Attributes
    ----------
    budget : Budget
    lookahead : int
        Rows that a ball may buffer, if that is not more than half of its rows.
    held_beside : int
        Bytes that the learner holds besides its classifier.
    """

    budget: Budget
    lookahead: int
    held_beside: int = 0

    def most_first_rows(self, asked: int, row_bytes: int, fixed_bytes: int, n_balls: int) -> int:
        """How many first rows to hold: for a while they take up to half of what `fixed_bytes` leave.

        A `BudgetError` if `n_balls` do not fit.
        """
        if self.budget.rows is self.budget.nbytes is None:
            return asked
        rows = self.budget.rows_within(
            row_bytes + ROW_NUMBERS + 8,
            fixed_bytes=fixed_bytes,
            at_least=2 * n_balls,
            what=f"StreamSVC with {n_balls} balls, of classes and candidates for C,",
        )
        return min(asked, rows // 2)

    def enforce(self, balls: list[KernelBall], n_first_rows: int, held: Callable[[], int]) -> None:
        """Set the limits of balls, and remove core vectors beyond them; `held()` is bytes of the whole classifier."""
        if self.budget.nbytes is not None:
            self._enforce_bytes(self.budget.nbytes, balls, held)
        elif self.budget.rows is not None:
            self._limit(balls, (self.budget.rows - n_first_rows) // len(balls))
        else:
            self._limit(balls, CORE_VECTORS)

    def _enforce_bytes(self, nbytes: int, balls: list[KernelBall], held: Callable[[], int]) -> None:
        """Rows differ in size, so what fits is found by trial: more than now if there is room, else fewer."""
        rows = max(ball.n_kept for ball in balls)
        self._limit(balls, max(1, int(rows * nbytes / (self.held_beside + held()))))
        while (total := self.held_beside + held()) > nbytes:
            rows = int(rows * min(0.95, nbytes / total))
            if rows < 1:
                raise BudgetError(
                    f"StreamSVC: {len(balls)} balls, of classes and candidates for C, do not fit into a budget of "
                    f"{format_bytes(nbytes)}; at least {sufficient_bytes(total)} would be needed."
                )
            self._limit(balls, rows)

    def _limit(self, balls: list[KernelBall], rows: int) -> None:
        """Let each ball hold this many rows."""
        if rows < 1:
            raise BudgetError(
                f"StreamSVC: {len(balls)} balls, of classes and candidates for C, need a budget of at least "
                f"{2 * len(balls)} rows; got {self.budget}."
            )
        for ball in balls:
            ball.lookahead, ball.limit = self.split(rows)
            ball.shrink(ball.limit)

    def split(self, rows: int) -> tuple[int, int]:
        """The lookahead and the limit of core vectors of a ball that holds this many rows."""
        lookahead = min(self.lookahead, max(1, rows // 2))
        return lookahead, rows - lookahead + 1
