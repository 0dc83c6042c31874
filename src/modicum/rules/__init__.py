"""What must hold, declared as data: of parameters, of budgets, of the state of learners."""
