"""The loop of online k-means."""

from modicum._jit import compiled


@compiled
def move_centers(X, w, centers, counts):
    """Move the nearest center of each row in turn towards the row, by the row's share of the center's weight."""
    for i in range(X.shape[0]):
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
