"""Figures of mixtures: their components on a map and as pictures."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.images import as_pictures, picture_sheet
from modicum.plot.weighted_maps import Points, weighted_map
from modicum.rows import is_sparse

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_ENTRIES = 2**24  # of sparse rows that become dense to be drawn: 128 MiB
MOST_NAMES = 15  # components with a name beside them; more would overlap


def component_map(mixture: Any) -> "Figure":
    """Clumps and single rows on a plane, with areas in proportion to their counts, coloured by component.

    An ellipse is drawn two standard deviations around the mean of each component. Rows of counts are drawn as
    frequencies, without ellipses; of sparse ones, only the heaviest that fit in memory.
    """
    kept = mixture.clumps_
    if is_sparse(kept["means"]):
        heaviest = np.argsort(-kept["counts"], kind="stable")[: max(1, MOST_ENTRIES // kept["means"].shape[1])]
        kept = {name: values[heaviest] for name, values in kept.items()}
        kept["means"] = kept["means"].toarray()
    rows = kept["means"]
    covariances = getattr(mixture, "covariances_", None)  # those of counts have none, and their means are frequencies
    if covariances is None:
        rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    names = mixture.component_names_ if mixture.n_components_ <= MOST_NAMES else ()
    return weighted_map(mixture, Points(rows, kept["counts"], kept["labels"]), mixture.means_, covariances, names)


def component_images(mixture: Any, image: tuple[int, ...]) -> "Figure":
    """A contact sheet of the means of components, largest component first; `image` as for `exemplar_images`."""
    order = np.argsort(-mixture.weights_, kind="stable")
    return picture_sheet(as_pictures(mixture.means_, image)[order])
