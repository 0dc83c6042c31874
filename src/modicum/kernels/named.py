"""Kernels by name."""

from collections.abc import Callable
from typing import Any

from modicum.exceptions import DataError
from modicum.kernels.dot import Linear, Polynomial
from modicum.kernels.function import FunctionKernel
from modicum.kernels.hamming import Hamming
from modicum.kernels.kernel import Kernel, Scaled
from modicum.kernels.laplacian import Laplacian
from modicum.kernels.matern import Matern32, Matern52
from modicum.kernels.normalized import Normalized
from modicum.kernels.rbf import RBF
from modicum.kernels.stationary import Radial
from modicum.kernels.weisfeiler_lehman import WeisfeilerLehman
from modicum.rows import are_objects, is_sparse
from modicum.rules.invariants import Is
from modicum.rules.params import OneOf, Where
from modicum.state.part import FUNCTION

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


GIVEN_KERNEL = [Is(Kernel), OneOf(*NAMED), FUNCTION]  # the same, as an invariant of state


def as_kernel(spec: str | Callable[..., Any] | Kernel, *, objects: bool = False) -> Kernel:
    """The kernel given by a name, a callable (on Python objects if `objects`) or a `Kernel`.

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


def takes_objects(spec: Any, X: Any) -> bool:
    """Whether rows of X are Python objects to a kernel."""
    if callable(spec) and not isinstance(spec, Kernel):
        return are_objects(X)
    return as_kernel(spec).takes_objects


def may_fail(spec: Any) -> bool:
    """Whether a kernel can fail on checked rows: a function may raise, and objects may not be valid graphs."""
    kernel = as_kernel(spec)
    return not isinstance(kernel.kernel if isinstance(kernel, Scaled) else kernel, Radial)


def fitted_kernel(spec: Any, rows: Any) -> Kernel:
    """The kernel with what depends on the data filled in from these rows; an error if it can't take such rows."""
    kernel = as_kernel(spec, objects=isinstance(rows, list))
    if is_sparse(rows) and not kernel.takes_sparse:
        raise DataError(f"the kernel {kernel!r} takes no sparse rows: make them dense, or use another kernel.")
    return kernel.fitted(rows)
