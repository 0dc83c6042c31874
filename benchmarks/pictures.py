"""How well descriptors of pictures separate classes, against raw pixels and thumbnails.

python benchmarks/pictures.py

Weights of the parts were chosen on the first 5,000 pictures of each set; these tables are of the next 5,000.
"""

import numpy as np
from PIL import Image
from sklearn.cluster import KMeans

import common
from modicum.pipeline.images import describe


def pictures(name):
    """The 5,000 pictures that weights were not chosen on, as (n, side, side, 3) bytes, and their classes."""
    data = common.data_file(name)
    if "x" in data:
        return data["x"][5000:], data["y"][5000:]
    return np.repeat(data["x_train"][5000:10_000, :, :, None], 3, axis=3), data["y_train"][5000:10_000]


def thumbnails(images, side):
    return np.stack([np.asarray(image.resize((side, side), Image.Resampling.BOX)).ravel() for image in images])


def neighbour_accuracy(X, y, n_known=4000):
    """The share of rows after the first `n_known` whose nearest row among those is of their class."""
    known, asked = X[:n_known], X[n_known:]
    squares = (known**2).sum(axis=1) - 2 * asked @ known.T
    return float((y[:n_known][squares.argmin(axis=1)] == y[n_known:]).mean())


def purity(X, y, seed):
    """The share of rows that are of the most frequent class of their cluster; 100 clusters."""
    labels = KMeans(100, n_init=1, random_state=seed).fit_predict(X)
    return sum(np.bincount(y[labels == i]).max() for i in np.unique(labels)) / len(y)


def main():
    args = common.arguments(__doc__)
    print("| data | features | columns | nearest neighbour | purity of 100 clusters |\n| --- | --- | --- | --- | --- |")
    for name in ("cifar10_test.npz", "mnist.npz"):
        pixels, y = pictures(name)
        images = [Image.fromarray(row) for row in pixels]
        features = {
            "raw pixels": pixels.reshape(len(pixels), -1) / np.float32(255),
            "thumbnail of 8 x 8": thumbnails(images, 8) / np.float32(255),
            "descriptors": describe(images),
        }
        for title, X in features.items():
            spread = [purity(X, y, args.seed + i) for i in range(3)]
            found = f"{neighbour_accuracy(X, y):.1%} | {np.mean(spread):.1%}"
            print(f"| {name.partition('.')[0]} | {title} | {X.shape[1]:,} | {found} |", flush=True)


if __name__ == "__main__":
    main()
