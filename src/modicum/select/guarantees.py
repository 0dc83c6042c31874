"""What the theorems promise, with the numbers filled in.

gomes2010, Theorem 4; schlegel2017, Theorem 1; badanidiyuru2014, kazemi2019, buschjager2021 for sieves. Values are those
of the objective with every row's least gain taken off, so that they start from zero and never fall.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SwapGuarantee:
    """Theorem 4 of gomes2010, for sets that no swap improves any more.

    `epsilon` bounds the error of the value of all sets of up to 2k rows at once, as the theorem asks; `eta` is what a
    swap had to gain; `ceiling` a value that no set can exceed.
    """

    value: float
    n_chosen: int
    epsilon: float
    eta: float
    confidence: float
    ceiling: float

    @property
    def slack(self) -> float:
        """k (epsilon + eta)."""
        return self.n_chosen * (self.epsilon + self.eta)

    @property
    def optimum_at_most(self) -> float:
        """The most that any set of so many rows can reach: by the theorem, or because of the ceiling."""
        return min(2 * (self.value + self.epsilon + self.slack), self.ceiling + self.epsilon)

    @property
    def says_something(self) -> bool:
        """Whether the theorem bounds the optimum better than the ceiling does."""
        return self.optimum_at_most < self.ceiling + self.epsilon

    def __str__(self) -> str:
        certainty = "" if self.epsilon == 0.0 else f", with probability {self.confidence:.3g},"
        promise = (
            f"Once no swap gains more than {self.eta:.3g}, the value of {self.n_chosen} chosen rows on the whole "
            f"stream is{certainty} at least half the best possible minus {self.slack:.3g}."
        )
        if not self.says_something:
            return f"{promise} Here that is no news; more validation rows would make it tighter."
        return f"{promise} It is {self.value:.4g}, so the best possible is at most {self.optimum_at_most:.4g}."


@dataclass(frozen=True)
class OnlineGuarantee:
    """Theorem 1 of schlegel2017: the same for a stream that brings rows like the best ones again and again."""

    value: float
    n_chosen: int
    coverage_error: float
    estimate_error: float
    threshold: float

    @property
    def slack(self) -> float:
        """b (epsilon_r + 2 epsilon_f + epsilon_t)."""
        return self.n_chosen * (self.coverage_error + 2 * self.estimate_error + self.threshold)

    @property
    def optimum_at_most(self) -> float:
        """The most that any set of so many rows can reach."""
        return 2 * self.value + self.slack

    def __str__(self) -> str:
        return (
            f"Once rows like the best ones have come by without a swap, log det(I + K / lambda) of {self.n_chosen} "
            f"prototypes is at least half the best possible minus {self.slack / 2:.3g}. It is {self.value:.4g}, so the "
            f"best possible is at most {self.optimum_at_most:.4g}."
        )


@dataclass(frozen=True)
class SieveGuarantee:
    """A part of the best possible value, whatever the order of rows; `paper` says who proved it."""

    value: float
    ratio: float
    probability: float
    paper: str

    @property
    def optimum_at_most(self) -> float:
        """The most that any set of so many rows can reach."""
        return self.value / self.ratio

    def __str__(self) -> str:
        certainty = "" if self.probability == 1.0 else f" with probability {self.probability:.3g}"
        return (
            f"The value is at least {self.ratio:.3g} of the best possible{certainty} ({self.paper}). It is "
            f"{self.value:.4g}, so the best possible is at most {self.optimum_at_most:.4g}."
        )
