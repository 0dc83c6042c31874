"""Pictures."""

import numpy as np

DESCRIPTORS = "descriptors"


def feature_function(n):
    return None


def image_features(paths, f=None):
    return np.zeros((len(paths), 3), np.float32)
