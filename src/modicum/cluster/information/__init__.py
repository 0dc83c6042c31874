"""Regularised information maximisation: objective, start, path and choice of the regularisation (gomes2010rim)."""
