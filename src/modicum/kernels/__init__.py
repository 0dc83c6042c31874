"""Kernels and dissimilarities, named or any callable, computed chunk against chunk."""

from modicum.kernels.dissimilarity import Dissimilarity, EditDistance, as_dissimilarity
from modicum.kernels.dot import Linear, Polynomial
from modicum.kernels.function import FunctionKernel
from modicum.kernels.hamming import Hamming
from modicum.kernels.kernel import Kernel, Product, Scaled, Sum
from modicum.kernels.laplacian import Laplacian
from modicum.kernels.matern import Matern32, Matern52
from modicum.kernels.named import GIVEN_KERNEL, KERNEL, as_kernel, fitted_kernel, may_fail, takes_objects
from modicum.kernels.normalized import Normalized
from modicum.kernels.precomputed import Precomputed
from modicum.kernels.rbf import RBF
from modicum.kernels.weisfeiler_lehman import WeisfeilerLehman
from modicum.numeric.distances import median_width

__all__ = [
    "GIVEN_KERNEL",
    "KERNEL",
    "RBF",
    "Dissimilarity",
    "EditDistance",
    "FunctionKernel",
    "Hamming",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "Normalized",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Sum",
    "WeisfeilerLehman",
    "as_dissimilarity",
    "as_kernel",
    "fitted_kernel",
    "may_fail",
    "median_width",
    "takes_objects",
]
