"""What a classifier will hold, before any data."""

from dataclasses import dataclass
from typing import Self

from modicum.drift import Changes, ErrorWatch
from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget, Plan, sufficient_bytes
from modicum.state.packing import held_bytes
from modicum.svm.candidates import Candidates
from modicum.svm.classifier import Classifier
from modicum.svm.core_limits import CORE_VECTORS, CoreLimits
from modicum.svm.first_rows import FirstRows
from modicum.svm.inputs import Inputs
from modicum.svm.intercept import WithIntercept
from modicum.svm.kernel_ball import KernelBall
from modicum.svm.one_vs_rest import n_machines
from modicum.svm.record import Record
from modicum.svm.tray import Tray

LABEL_BYTES = 128  # a string of 32 characters
NUMBERS = 256  # bytes of single numbers: counts, the tile, settings
ENTRANT = 64  # bytes beside the machines of an entrant


@dataclass(frozen=True)
class Shape:
    """How much there is to hold: columns, bytes of a number, classes, and what is left of the candidates."""

    n_features: int
    itemsize: int
    n_classes: int
    n_inputs: int
    n_entrants: int
    expects_more: bool = True  # classes, so that each entrant has a machine for an unseen one

    @classmethod
    def of(cls, classifier: Classifier, n_features: int, itemsize: int) -> Self:
        """What a classifier that learns has to hold by now."""
        tournament = classifier.tournament
        expects_more = tournament.leader.machines.unseen is not None
        left = len(tournament.inputs), len(tournament.entrants)
        return cls(n_features, itemsize, len(classifier.labels), *left, expects_more)

    @property
    def n_machines(self) -> int:
        return self.n_entrants * max(1, n_machines(self.n_classes) + self.expects_more)

    @property
    def row_bytes(self) -> int:
        return self.n_features * self.itemsize


def check_fits(budget: Budget, shape: Shape, candidates: Candidates, held: int) -> None:
    """A `BudgetError` if linear machines need more than the budget, now or later; `held` is bytes held now."""
    needed = plan_linear(shape, candidates, has_tray=False)
    nbytes = max(needed.nbytes, held)
    if needed.rows > (budget.rows or needed.rows) or nbytes > (budget.nbytes or nbytes):
        least = sufficient_bytes(nbytes) if budget.rows is None else f"{needed.rows:,} rows"
        raise BudgetError(
            f"StreamSVC: {shape.n_classes} classes and {shape.n_features} columns need a budget of at least {least}; "
            f'got {budget}. A given C, ellipsoid="diagonal" or a smaller n_initial of balls need less.'
        )


def fixed_parts(shape: Shape, candidates: Candidates) -> dict[str, int]:
    """Bytes that do not depend on the number of rows."""
    k, names = shape.n_classes, 8 * shape.n_features
    inputs = shape.n_inputs * Inputs.size(shape.n_features, center=True) if candidates.is_linear else 8
    return {
        "record_of_accuracy": Record.size(k) + held_bytes(ErrorWatch()) + Changes.MOST_BYTES,
        "labels_and_settings": k * (2 * LABEL_BYTES + 8) + names + NUMBERS + shape.n_entrants * ENTRANT,
        "preparation_of_rows": inputs,
    }


def shape_of(candidates: Candidates, n_features: int, itemsize: int, n_classes: int) -> Shape:
    """How much there is to hold for dense rows before any candidate has been dropped."""
    n_steps = len(candidates.steps("dense")) if candidates.is_linear else 1
    n_inputs, n_entrants = n_steps * len(candidates.memories), n_steps * candidates.n_entrants
    return Shape(n_features, itemsize, n_classes, n_inputs, n_entrants)


def plan_classifier(candidates: Candidates, budget: Budget, n_features: int, itemsize: int, n_classes: int) -> Plan:
    """The plan of a classifier that is given dense rows."""
    shape = shape_of(candidates, n_features, itemsize, n_classes)
    if candidates.is_linear:
        return plan_linear(shape, candidates, has_tray=budget == Budget())
    return plan_kernel(shape, candidates, budget)


def plan_linear(shape: Shape, candidates: Candidates, *, has_tray: bool) -> Plan:
    """The plan of linear machines, whose size is fixed."""
    machine = candidates.linear_size(shape.n_features)
    n_first = 0 if candidates.is_ellipsoid or candidates.n_initial < 2 else candidates.room
    parts = {
        "machines": shape.n_machines * (machine.nbytes + candidates.past_bytes(shape.n_features)),
        "first_rows": FirstRows.size(n_first, shape.row_bytes) if n_first else 0,
        "single_rows": Tray.size(shape.n_features, shape.itemsize) if has_tray else 0,
    }
    return Plan.of(n_first + shape.n_machines * machine.rows, **parts, **fixed_parts(shape, candidates))


def plan_kernel(shape: Shape, candidates: Candidates, budget: Budget) -> Plan:
    """The plan of balls with a kernel. A budget in bytes leaves to core vectors what nothing else needs."""
    fixed = fixed_parts(shape, candidates)
    what = f"StreamSVC with {shape.n_machines} balls, of classes and candidates for C,"
    if budget.rows is not None and budget.rows < 2 * shape.n_machines:
        raise budget.too_small(2 * shape.n_machines, what)
    if budget.nbytes is None:
        return Plan.of(_most_rows(shape, candidates, budget), **_core_parts(shape, candidates, budget), **fixed)
    rows = budget.most_within(
        lambda n: sum(fixed.values()) + sum(_core_parts(shape, candidates, Budget(rows=n)).values()),
        at_least=2 * shape.n_machines,
        what=what,
    )
    return Plan.of(rows, core_vectors=budget.nbytes - sum(fixed.values()), **fixed)


def _most_rows(shape: Shape, candidates: Candidates, budget: Budget) -> int:
    return candidates.room + shape.n_machines * CORE_VECTORS if budget.rows is None else budget.rows


def _core_parts(shape: Shape, candidates: Candidates, budget: Budget) -> dict[str, int]:
    """Bytes of core vectors with buffered rows, of kernel matrices, and of the first rows."""
    kernel_bytes = 2 * (held_bytes(candidates.given_kernel("dense")) + 64 + 8 * shape.n_features)  # widths included
    empty = WithIntercept.size(KernelBall.size(kernel_bytes, shape.row_bytes, 0, 0)).nbytes
    if budget.rows is not None:  # matrices are largest once the tournament has left one entrant to share the budget
        fewest = max(1, n_machines(shape.n_classes))
        first, core = 0, budget.rows * (shape.row_bytes + 24)
        matrices = fewest * KernelBall.matrix_bytes(-(-budget.rows // fewest))
    else:
        lookahead, n_core = CoreLimits(budget, candidates.lookahead).split(CORE_VECTORS)
        first = FirstRows.size(candidates.room, shape.row_bytes)
        core = shape.n_machines * KernelBall.size(0, shape.row_bytes, n_core, lookahead - 1).nbytes
        matrices = shape.n_machines * KernelBall.matrix_bytes(n_core)
    return {"core_vectors": core + shape.n_machines * empty, "kernel_matrices": matrices, "first_rows": first}
