"""The same learners on a Dask cluster: every shard is learned by a learner of its own, and all are merged."""

from modicum.distribute.answers import predict, transform
from modicum.distribute.fitting import fit
from modicum.distribute.selecting import Selected, select

__all__ = ["Selected", "fit", "predict", "select", "transform"]
