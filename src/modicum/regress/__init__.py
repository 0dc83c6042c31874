"""Regression on streams, in bounded memory."""

from modicum.regress.krls import KRLS
from modicum.regress.prototypes import PrototypeRegressor
from modicum.regress.sparse_gp import SparseGPRegressor

__all__ = ["KRLS", "PrototypeRegressor", "SparseGPRegressor"]
