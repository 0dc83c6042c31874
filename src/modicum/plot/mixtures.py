"""Mixtures that find their components: where these lie, and what they look like."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.images import as_pictures, picture_sheet
from modicum.plot.planes import Points, weighted_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_NAMES = 15  # components with a name beside them; more would hide each other


def component_map(mixture: Any) -> "Figure":
    """Clumps and single rows on a plane, as large as their counts and in the colour of their component.

    An ellipse is drawn two standard deviations around the mean of each component. Rows of counts are drawn as
    frequencies, and have no ellipses.
    """
    kept = mixture.clumps_
    rows = kept["means"]
    covariances = getattr(mixture, "covariances_", None)
    if covariances is None:  # means of components are frequencies
        rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    names = mixture.component_names_ if mixture.n_components_ <= MOST_NAMES else ()
    return weighted_map(mixture, Points(rows, kept["counts"], kept["labels"]), mixture.means_, covariances, names)


def component_images(mixture: Any, shape: tuple[int, ...]) -> "Figure":
    """A contact sheet of the means of components, the largest component first.

    `shape` is that of the pictures that rows are, as for `exemplar_images`.
    """
    order = np.argsort(-mixture.weights_, kind="stable")
    return picture_sheet(as_pictures(mixture.means_, shape)[order])
