"""The loop of online k-means."""

from modicum._jit import compiled


@compiled
def move_centers(X, w, decay, least, centers, counts):
    """Move the nearest center of each row in turn towards the row, by the row's share of the center's weight.

    Before each row, weights of centers decay, down to `least`.
    """
    for i in range(X.shape[0]):
        if decay < 1.0:
            for j in range(centers.shape[0]):
                counts[j] = max(counts[j] * decay, least)
        best, nearest = 0, 1e308
        for j in range(centers.shape[0]):
            d = 0.0
            for c in range(X.shape[1]):
                step = X[i, c] - centers[j, c]
                d += step * step
            if d < nearest:
                best, nearest = j, d
        counts[best] += w[i]
        rate = w[i] / counts[best]
        for c in range(X.shape[1]):
            centers[best, c] += rate * (X[i, c] - centers[best, c])
