"""Prototypes that predict the targets of a sample best, and the kernel whose widths explain these targets best."""

from typing import Any

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.regress.active_set import ActiveSet
from modicum.regress.gp_settings import FEW_INITIAL_ROWS, GPSettings
from modicum.rows import Rows, RowsOf, take
from modicum.rules.invariants import Array, Is, Real
from modicum.select.objectives.projected_error import ProjectedError
from modicum.state.packing import missing_functions
from modicum.state.part import Part

MIN_GAIN = 1e-3  # of a swap, relative to the error; with a tenth of it, swaps take twice the time and win 2%


class Landmarks(Part):
    """Prototypes chosen among the rows of a sample, with a kernel fitted to some of them.

    The kernel's parameters maximize the likelihood of a Gaussian process of 500 rows of the sample, drawn by their
    weights (rasmussen2006, section 5.4.1). Prototypes are then chosen by the error of the projected process on all of
    the sample (smola2000): greedily from a first block of rows, and by swaps from the others. `weight` is that of the
    stream when they were chosen.
    """

    _invariants = {
        "kernel": Is(Kernel),
        "rows": RowsOf("n"),
        "ids": Array("int64", "n"),
        "targets": Array("float64", "n"),
        "weight": Real(above=0.0),
    }

    def __init__(
        self,
        kernel: Kernel,
        n_prototypes: int,
        sample: tuple[Any, np.ndarray, np.ndarray, np.ndarray],
        rng: np.random.Generator,
    ):
        """`sample` has rows, targets, weights that sum to the weight of the stream, and ids."""
        X, y, weights, row_ids = sample
        self.weight = float(weights.sum())
        shares, order = weights / self.weight, rng.permutation(len(y))
        enough = min(FEW_INITIAL_ROWS, max(1, int(1 / (shares @ shares))))  # as many as rows of equal weight would be
        few = np.sort(rng.choice(len(y), enough, replace=False, p=shares))
        found = GPSettings(n_prototypes, kernel, None, False, MIN_GAIN).fit_exact(take(X, few), y[few])
        chosen = ActiveSet(ProjectedError(found.kernel, found.noise), found.noise, X, n_prototypes, len(y))
        chosen.move_center(float(y @ shares))
        chosen.put_validation(np.arange(len(y)), X, y, shares)
        chosen.offer(take(X, order), y[order], row_ids[order], MIN_GAIN)
        self.kernel = chosen.kernel
        self.rows = Rows.like(X, n_prototypes)
        self.rows.put(np.arange(len(chosen.ids)), chosen.rows)
        self.ids, self.targets = chosen.ids, chosen.targets

    def restore_functions(self, given: Kernel) -> None:
        """Take functions of the kernel, which a file can't hold, from the given one."""
        if missing_functions(self.kernel):
            self.kernel = Scaled(given, self.kernel.scale) if isinstance(self.kernel, Scaled) else given
