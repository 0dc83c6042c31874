"""Kernels by name."""

from collections.abc import Callable
from typing import Any

from modicum.kernels.dot import Linear, Polynomial
from modicum.kernels.function import FunctionKernel
from modicum.kernels.hamming import Hamming
from modicum.kernels.kernel import Kernel
from modicum.kernels.laplacian import Laplacian
from modicum.kernels.matern import Matern32, Matern52
from modicum.kernels.normalized import Normalized
from modicum.kernels.rbf import RBF
from modicum.kernels.weisfeiler_lehman import WeisfeilerLehman
from modicum.params import Where

NAMED: dict[str, Callable[[], Kernel]] = {
    "rbf": RBF,
    "rbf-ard": lambda: RBF(ard=True),
    "matern32": Matern32,
    "matern52": Matern52,
    "laplacian": Laplacian,
    "linear": Linear,
    "polynomial": Polynomial,
    "hamming": Hamming,
    "wl": lambda: Normalized(WeisfeilerLehman()),
}

_WORDS = f"a kernel such as RBF(0.5), a callable, or one of {', '.join(NAMED)}"
KERNEL = Where(lambda value: callable(value) or (isinstance(value, str) and value in NAMED), _WORDS)


def as_kernel(spec: str | Callable[..., Any] | Kernel, *, objects: bool = False) -> Kernel:
    """A name, a callable (on Python objects if `objects`) or a `Kernel`.

    >>> as_kernel("rbf"), as_kernel(2.0 * RBF(0.5))
    (RBF(), 2.0 * RBF(0.5))
    """
    if isinstance(spec, Kernel):
        return spec
    if callable(spec):
        return FunctionKernel(spec, takes_objects=objects)
    if isinstance(spec, str) and spec in NAMED:
        return NAMED[spec]()
    raise ValueError(f"kernel must be {_WORDS}; got {spec!r}.")
