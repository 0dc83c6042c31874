"""Rules declared as data: constraints on parameters, invariants of state, and budgets."""
