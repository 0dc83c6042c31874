"""k-means of 50 million rows as they come, in 64 MiB: StreamKMeans beside scikit-learn, BICO and River.

    python benchmarks/speed/coreset_stream.py [--quick] [--rows N] [--peer-python INTERPRETER]

Rows of 8 columns in float32 from 300 Gaussian clusters, made as they are asked for in chunks of 50,000; k = 100. Each
contestant runs in a process of its own with 2 threads. Seconds are those of learning and of the last question for the
centers; the making of rows is measured apart. River takes rows one at a time and stops after 20 s, BICO after 60 s.
Resident memory is noted after each chunk. The risk is the mean squared distance to the nearest center of the first
100,000 rows, which nobody learns from; those who stopped early answer with what they have.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import MIB, OURS, PEER, Result, arguments, figures, nearest, resident, warm_up
from peers import PEER_OPTIONS, interpreters, run_worker

COMMAND = "python benchmarks/speed/coreset_stream.py"
D, K, CLUSTERS, CHUNK = 8, 100, 300, 50_000
HELD_OUT = 2  # chunks
SETTLED = 5_000_000  # rows after which memory must be flat
STREAM_KMEANS, MINI_BATCH = "modicum StreamKMeans", "MiniBatchKMeans"
