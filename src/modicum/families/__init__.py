"""Exponential families with conjugate priors, for the components of mixtures."""

from modicum.families.diagonal_gaussian import DiagonalGaussian
from modicum.families.family import Family
from modicum.families.full_gaussian import FullGaussian
from modicum.families.gaussian import Gaussian
from modicum.families.multinomial import Multinomial
from modicum.families.named import FAMILIES, FAMILY, as_family

__all__ = [
    "FAMILIES",
    "FAMILY",
    "DiagonalGaussian",
    "Family",
    "FullGaussian",
    "Gaussian",
    "Multinomial",
    "as_family",
]
