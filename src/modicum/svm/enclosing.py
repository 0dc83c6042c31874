"""The smallest ball that encloses balls, some of which may be points (fischer2003; rai2009, section 4)."""

import numpy as np

from modicum._jit import enclosing


def enclose_two(square: float, own: float, other: float) -> tuple[float, float]:
    """The smallest ball around two, in closed form.

    Parameters
    ----------
    square : float
        Squared distance of the centers.
    own, other : float
        Radii.

    Returns
    -------
    step, radius : float
        The new center is (1 - step) of the first and step of the second: 0 or 1 if one of them contains the other.

    Examples
    --------
    >>> enclose_two(4.0, 1.0, 0.0), enclose_two(4.0, 3.0, 0.0)
    ((0.25, 1.5), (0.0, 3.0))
    """
    return enclosing.enclose_two(float(square), float(own), float(other))


def enclose(gram: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, float]:
    """The smallest ball around any number of balls, by an active set method.

    Guarantee: the radius encloses all of them as computed from `gram`, and its relative excess over the smallest
    one is at most 1e-11 unless rounding in `gram` is larger.
    Cost: O(n^2) for n balls, and O(k^3) for the k tight ones, if these can be guessed; that is usual for many points
    with separate slack coordinates. Otherwise O(n k + k^2) for each ball that joins or leaves the tight set.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Inner products of the centers. Minus one half of their squared distances works as well.
    radii : ndarray of shape (n,)

    Returns
    -------
    weights : ndarray of shape (n,)
        Non-negative, with sum 1: the new center is this combination of the given ones.
    radius : float

    Examples
    --------
    Two points, and a ball around the origin that touches the ball around them:

    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [-3.0, 4.0]])
    >>> weights, radius = enclose(points @ points.T, np.array([2.0, 0.0, 0.0]))
    >>> ((weights @ points).round(6) + 0.0).tolist(), round(radius, 6)
    ([0.0, 1.75], 3.75)
    """
    weights = np.empty(len(radii))
    # contiguous, so that the loop is compiled only once
    radius = enclosing.enclose(np.ascontiguousarray(gram, np.float64), np.ascontiguousarray(radii, np.float64), weights)
    return weights, float(radius)
