"""Pictures that represent a folder, copied to another one.

python examples/pictures.py FOLDER
"""

# %% The pictures of a folder; without one, digits of scikit-learn as files.
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from modicum import ExemplarClustering
from modicum.pipeline.images import copy_pictures, image_features, readable

QUICK = bool(os.environ.get("MODICUM_QUICK"))
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
if len(sys.argv) == 1:
    digits = load_digits()
    for i in range(100 if QUICK else 600):
        pixels = (digits.images[i] * 15.9).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{digits.target[i]}_{i:04}.png")
paths = sorted(str(path) for path in folder.rglob("*") if path.is_file())
kept = [path for path, good in zip(paths, readable(paths), strict=True) if good]
print(f"{len(kept)} of {len(paths)} files are pictures")

# %% A row of numbers for each; ten rows that represent all of them.
model = ExemplarClustering(10, random_state=0).fit(image_features(kept))

# %% The chosen ones, largest group first.
order = np.argsort(-model.cluster_sizes_)
target = Path(tempfile.mkdtemp()) / "picked"
names = copy_pictures([kept[model.exemplar_ids_[i]] for i in order], target)
for name, size in zip(names, model.cluster_sizes_[order], strict=True):
    print(f"{size:6,.0f}  {name}")
print(f"copied to {target}")
