"""What is proven about the balls (rai2009, section 4.3; zarrabizadeh2006), with the numbers filled in."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from modicum.svm.machine import Starter


@dataclass(frozen=True)
class BallGuarantee:
    """Bounds for each machine: the radius of its ball, and the margin between its rows.

    A row is a point of a fixed squared length k(x, x) + 1 / C, so a smaller ball is a larger margin: the center c of
    the smallest one has the largest possible margin, |c| = sqrt(k(x, x) + 1 / C - R^2). Margins count the slack of a
    row. They are NaN if rows are not of unit length.

    Attributes
    ----------
    radius, least_radius : ndarray
        Radius of the ball, and what the smallest ball around all rows must have at least.
    margin, largest_margin : ndarray
        What all rows have in the present direction, and the most that any direction can give them.
    """

    names: list[str]
    radius: np.ndarray
    least_radius: np.ndarray
    margin: np.ndarray
    largest_margin: np.ndarray

    @classmethod
    def of(cls, names: list[str], balls: list[Starter], length: float) -> Self:
        """For balls around points of this squared length; NaN if they have none in common."""
        radius = np.array([ball.radius for ball in balls])
        least = np.array([ball.least_radius for ball in balls])
        square = np.array([ball.square for ball in balls])
        # a point p within the radius R of c has 2 c.p = |c|^2 + |p|^2 - |c - p|^2 >= |c|^2 + |p|^2 - R^2
        margin = (square + length - radius**2) / (2.0 * np.sqrt(square))
        return cls(names, radius, least, margin, np.sqrt(np.maximum(length - least**2, 0.0)))

    def __str__(self) -> str:
        return "\n".join(map(self._sentence, range(len(self.names))))

    def _sentence(self, i: int) -> str:
        said = (
            f"{self.names[i]}: the ball has a radius of {self.radius[i]:.4g}; the smallest one around all rows has "
            f"{self.least_radius[i]:.4g} or more."
        )
        if np.isnan(self.margin[i]):
            return said
        return (
            f"{said} With their slack, all rows have a margin of {max(self.margin[i], 0.0):.3g}; no direction gives "
            f"them more than {self.largest_margin[i]:.3g}."
        )
