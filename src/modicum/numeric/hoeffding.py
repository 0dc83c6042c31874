"""Hoeffding bounds: the error of the mean of a sample, and the sample size for a given error.

hoeffding1963, Theorem 2; bardenet2015, Theorem 2.4 for samples drawn without replacement. gomes2010, Corollary 1,
omits a term of the latter; it is wrong for a sample of one of two rows.
"""

import math


def log_of_doubt(confidence: float) -> float:
    """log(2 / (1 - confidence)); a ValueError unless the confidence is strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be strictly between 0 and 1; got {confidence!r}.")
    return math.log(2 / (1 - confidence))


def hoeffding_error(n: float, value_range: float, log_term: float, population: float = math.inf) -> float:
    """A bound on the error of the mean of `n` of `population` values in a range, with probability 1 - delta.

    `log_term` is log(2 / delta), plus the logarithm of the number of means for a simultaneous bound.
    """
    left = min(1 - (n - 1) / population, (1 - n / population) * (1 + 1 / n))
    return value_range * math.sqrt(log_term * max(0.0, left) / (2 * n))


def hoeffding_size(error: float, value_range: float, log_term: float, population: float = math.inf) -> int:
    """The smallest sample whose `hoeffding_error` is at most `error`; a ValueError for invalid numbers."""
    for name, value in (("error", error), ("value_range", value_range)):
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")
    size = math.ceil(1 / (2 * (error / value_range) ** 2 / log_term + 1 / population))  # gomes2010, Corollary 1
    while hoeffding_error(size, value_range, log_term, population) > error:
        size += 1
    return size
