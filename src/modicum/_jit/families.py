"""Loops over rows, components and columns for log-densities of families."""

import numpy as np

from modicum._jit import compiled_sums

LARGE = 1e100  # products of two are still finite


@compiled_sums
def log_one_plus_squares(X, means, widths, out):
    """out[i, k] = sum over columns j of log(1 + (X[i, j] - means[k, j])^2 / widths[k, j]).

    Factors are multiplied while the product is moderate: a logarithm takes ten times as long.
    """
    for i in range(len(X)):
        for k in range(len(means)):
            total, product = 0.0, 1.0
            for j in range(X.shape[1]):
                step = X[i, j] - means[k, j]
                factor = 1.0 + step * step / widths[k, j]
                if factor > LARGE:
                    total += np.log(factor)
                else:
                    product *= factor
                if product > LARGE:
                    total += np.log(product)
                    product = 1.0
            out[i, k] = total + np.log(product)
