"""What is proven about balls (rai2009, section 4.3; zarrabizadeh2006), with the numbers filled in."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from modicum.contract.guarantee import Guarantee
from modicum.svm.machine import BallMachine

CONDITIONS = (
    "It is about rows as they were prepared when they were learned.",
    "Merged sides had the same kernel parameters and the same preparation of rows.",
)


@dataclass(frozen=True)
class BallGuarantee(Guarantee):
    """Bounds for each machine on the radius of its ball and on the margin of its rows.

    A row is a point of a fixed squared length k(x, x) + 1 / C, so a smaller ball is a larger margin: the center c of
    the smallest one has the largest possible margin, |c| = sqrt(k(x, x) + 1 / C - R^2). Margins include the slack of
    rows. They are NaN if rows are not of unit length.

    Attributes
    ----------
    names : list of str
        The problem of each machine, such as "spam against ham".
    radius, least_radius : ndarray
        Radius of the ball, and a lower bound on that of the smallest ball around all rows.
    margin, largest_margin : ndarray
        Lower bound on the margin in the present direction, and upper bound on that in any direction.
    confidence : float
        1: the bounds are certain.
    conditions : tuple of str
    """

    names: list[str]
    radius: np.ndarray
    least_radius: np.ndarray
    margin: np.ndarray
    largest_margin: np.ndarray
    confidence: float = 1.0
    conditions: tuple[str, ...] = CONDITIONS

    @classmethod
    def of(cls, names: list[str], balls: list[BallMachine], length: float) -> Self:
        """The guarantee for balls around points of this squared length; NaN if they have none in common."""
        radius = np.array([ball.radius for ball in balls])
        least = np.array([ball.least_radius for ball in balls])
        square = np.array([ball.square for ball in balls])
        # a point p within the radius R of c has 2 c.p = |c|^2 + |p|^2 - |c - p|^2 >= |c|^2 + |p|^2 - R^2
        with np.errstate(invalid="ignore", divide="ignore"):
            margin = (square + length - radius**2) / (2.0 * np.sqrt(square))
        return cls(names, radius, least, margin, np.sqrt(np.maximum(length - least**2, 0.0)))

    @property
    def says_something(self) -> bool:
        """Whether a radius is bounded away from zero, and with it a margin from above."""
        return bool((self.least_radius > 0.0).any())

    def __str__(self) -> str:
        return "\n".join(map(self._sentence, range(len(self.names))))

    def _sentence(self, i: int) -> str:
        said = (
            f"{self.names[i]}: the ball has a radius of {self.radius[i]:.4g}; the smallest ball around all rows has "
            f"a radius of at least {self.least_radius[i]:.4g}."
        )
        if np.isnan(self.margin[i]):
            return said
        return (
            f"{said} Slack included, all rows have a margin of at least {max(self.margin[i], 0.0):.3g}; no direction "
            f"gives them more than {self.largest_margin[i]:.3g}."
        )
