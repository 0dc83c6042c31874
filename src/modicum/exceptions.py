"""The errors modicum raises on purpose.

    ModicumError
    ├── DataError (ValueError)            a row, column or file that can't be learned from
    ├── BudgetError (ValueError)          a budget too small to work in
    ├── StateError (ValueError)           a state file that can't be read, or states that can't be merged
    └── MissingExtraError (ImportError)   an optional package is not installed

Each message names what was expected, what came and, where there is one, the way out.
"""


class ModicumError(Exception):
    """Base of all errors below."""


class DataError(ModicumError, ValueError):
    """A row, column or file that can't be learned from."""


class BudgetError(ModicumError, ValueError):
    """A budget too small to work in; the message says how much is needed."""


class StateError(ModicumError, ValueError):
    """A state file that can't be read, or two states that can't be merged."""


class MissingExtraError(ModicumError, ImportError):
    """An optional package is not installed; the message says how to install it."""
