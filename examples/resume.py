"""A stream that is killed and goes on: the end is the same as if nothing had happened.

python examples/resume.py
"""

# %% A file of rows, and a learner that leaves a checkpoint after every chunk.
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from modicum import ExemplarClustering, Learner, stream
from modicum.contract.checkpoint import Checkpoint

QUICK = bool(os.environ.get("MODICUM_QUICK"))
N = 10_000 if QUICK else 100_000


def learn(rows_file: Path, checkpoint_file: Path, die_at: int | None = None) -> Learner:
    """Learn all rows, going on where an earlier start was stopped."""
    place = Checkpoint(checkpoint_file, every=0, run={"source": str(rows_file)})
    learner, position, finished = place.resume() or (ExemplarClustering(20, n_validation=500, random_state=0), 0, False)
    print(f"  starts at row {position:,}", flush=True)
    rows = stream(rows_file, chunk_size=N // 10, start=position)

    def on_chunk(learner: Learner) -> None:
        place.write_if_due(learner, rows.position)
        if rows.position == die_at:
            os.kill(os.getpid(), signal.SIGKILL)  # no goodbye: nothing after this line runs

    if not finished:
        learner.learn(rows, on_chunk)
        place.write(learner, rows.position, finished=True)
    return learner


# %% The first process is killed at 60% of the rows, the second goes on, a third is never disturbed.
def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.npy"
        np.save(rows_file, np.random.default_rng(0).normal(size=(N, 8)).astype(np.float32))
        print("a process that is killed:", flush=True)
        died = subprocess.run([sys.executable, __file__, str(rows_file), f"{folder}/killed.mcm", str(N * 6 // 10)])
        print(f"  ended with {died.returncode}")
        print("the same again:")
        resumed = learn(rows_file, Path(folder) / "killed.mcm")
        print("never disturbed:")
        straight = learn(rows_file, Path(folder) / "straight.mcm")
    print("the same learner, bit for bit:", resumed.to_bytes() == straight.to_bytes())
    assert resumed.to_bytes() == straight.to_bytes()


if __name__ == "__main__":
    if len(sys.argv) == 4:
        learn(Path(sys.argv[1]), Path(sys.argv[2]), die_at=int(sys.argv[3]))
    else:
        main()
