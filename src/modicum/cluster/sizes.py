"""How many validation rows exemplar clustering keeps, and the bytes it holds with them."""

from dataclasses import dataclass

from modicum.cluster.held_out import n_held_out
from modicum.rules.budget import Plan, as_budget, format_bytes

USEFUL_PER_EXEMPLAR, USEFUL_ROWS = 80, 3000  # validation rows by default, the larger of both: more change little
HISTORY_BYTES = 20 * 1024  # 426 records
SCALAR_BYTES = 512  # of single numbers


@dataclass(frozen=True)
class Sizes:
    """Number of exemplars, bytes of one row and of one number of its dtype, and of what is held besides."""

    n_exemplars: int
    row_bytes: int
    itemsize: int
    other_bytes: int = 0

    def n_validation(self, budget: int | str | None, asked: int | None) -> int:
        """Validation rows to keep: as many as asked for, or as are useful and fit the budget."""
        k = self.n_exemplars
        if asked is not None and asked < k:
            raise ValueError(f"ExemplarClustering: n_validation must be at least n_exemplars, {k}; got {asked}.")
        rows = "" if asked is None else f" and {asked:,} validation rows"
        _, n_validation = as_budget(budget).split(
            lambda _, n: self.plan(n),
            n_produced=k,
            n_validation=asked,
            useful=max(USEFUL_ROWS, USEFUL_PER_EXEMPLAR * k),
            at_least=k,
            what=f"ExemplarClustering with {k:,} exemplars{rows} of {format_bytes(self.row_bytes)} a row",
        )
        return n_validation

    def plan(self, n: int) -> Plan:
        """What is held with n validation rows."""
        k, row, held_out = self.n_exemplars, self.row_bytes, n_held_out(n)
        bookkeeping = 4 * 8 + 2 * self.itemsize + 2 * 4  # key, weight, id and share; the two nearest centers
        exemplars = k * (row + 8 + 9)  # row, id, removal loss and flag
        phantom = 5 * row  # and the mean in float64
        return Plan.of(
            k + n + held_out,
            validation_rows=n * row,
            their_dissimilarities_to_exemplars=n * (k + 1) * self.itemsize,
            their_keys_weights_and_nearest=n * bookkeeping,
            held_out_rows=held_out * (row + 3 * 8),  # key, weight and id
            exemplars_means_phantom_and_history=exemplars
            + phantom
            + HISTORY_BYTES
            + 512
            + self.other_bytes,  # and single numbers
        )
