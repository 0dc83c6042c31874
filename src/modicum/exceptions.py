"""The exceptions that modicum raises.

    ModicumError
    ├── DataError (ValueError)            a row, column or file that can't be learned from
    ├── BudgetError (ValueError)          a budget that is too small
    ├── StateError (ValueError)           a state file that can't be read, or states that can't be merged
    └── MissingExtraError (ImportError)   an optional package is not installed
    DataWarning (UserWarning)             rows that can be learned from, but that may not be what was meant
    └── OrderWarning                      rows that seem to be sorted

Each message says what was expected, what was found and, if there is one, the remedy.
"""


class ModicumError(Exception):
    """Base of all exceptions of modicum."""


class DataError(ModicumError, ValueError):
    """A row, column or file that can't be learned from."""


class BudgetError(ModicumError, ValueError):
    """A budget that is too small; the message says how much is needed."""


class StateError(ModicumError, ValueError):
    """A state file that can't be read, or two states that can't be merged."""


class MissingExtraError(ModicumError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class DataWarning(UserWarning):
    """Rows that can be learned from, but that may not be what was meant."""


class OrderWarning(DataWarning):
    """Rows that seem to be sorted, where rows in random order would teach more."""
