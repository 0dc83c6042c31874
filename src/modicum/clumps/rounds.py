"""The history of rounds of learning."""

from typing import Any

import numpy as np

from modicum.contract.history import History

MAX_ROUNDS = 128  # in the history


class Rounds(History):
    """History of rounds. Their times are not saved: a saved state does not depend on the machine."""

    def _fields(self) -> dict[str, Any]:
        table = self.table.copy()
        table[:, self.columns.index("seconds")] = np.nan
        return vars(self) | {"table": table}
