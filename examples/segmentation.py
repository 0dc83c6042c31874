"""Regions that pictures share, from their pixels, in the memory of a few pictures."""

# %% Squares of two photographs, at random places and of random size, reduced to 64 x 64 pixels.
import os
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_images

from modicum import MemoryBoundedTopicModel
from modicum.pipeline.pixels import pixels
from modicum.plot import segment_images

QUICK = bool(os.environ.get("MODICUM_QUICK"))
SIDE = 32 if QUICK else 64
rng = np.random.default_rng(0)
photographs = load_sample_images().images
squares = []
for i in range(8 if QUICK else 24):
    photograph = photographs[i % 2]
    side = rng.integers(100, 400)
    top, left = rng.integers(photograph.shape[0] - side), rng.integers(photograph.shape[1] - side)
    squares.append(photograph[top : top + side, left : left + side])

# %% A picture is a document of pixels: x, y and colour. They come four pictures at a time.
documents = [pixels(square, size=SIDE) for square in squares]
epoch = 4 * SIDE**2
model = MemoryBoundedTopicModel("gaussian", budget=2 * epoch, epoch=epoch, max_topics=20, tol=0.01)
for first in range(0, len(documents), 4):
    model.partial_fit(documents[first : first + 4])
seen = sum(map(len, documents))
print(f"{seen:,} pixels of {len(documents)} pictures: {model.n_topics_} topics, {model.nbytes_ / 1e6:.1f} MB held")

# %% A topic is a region that pictures share: where it is, its colour in CIELAB, and in how many pictures.
topics = model.predict_items(documents)
shares = np.stack([np.bincount(labels, minlength=model.n_topics_) / len(labels) for labels in topics])
for k in np.argsort(-shares.sum(axis=0))[:8]:
    x, y, *colour = model.components_[k]
    where = ("top" if y < -8 else "bottom" if y > 8 else "middle") + (" left" if x < -8 else " right" if x > 8 else "")
    colour = ", ".join(f"{value:.0f}" for value in colour)
    print(f"{shares[:, k].mean():4.0%} of all pixels, in {(shares[:, k] > 0.02).sum():2} pictures: {where}, ({colour})")

# %% Pictures next to their segmentations.
target = Path(tempfile.mkdtemp()) / "segmentation.png"
segment_images(squares[:12], topics[:12], size=SIDE).savefig(target)
print(f"saved to {target}")
