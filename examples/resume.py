"""A process that is killed and resumed: the result is the same as without interruption.

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
    """Learn all rows, resuming from the checkpoint if there is one."""
    checkpoint = Checkpoint(checkpoint_file, every=0, run={"source": str(rows_file)})
    learner, position, finished = checkpoint.resume() or (
        ExemplarClustering(20, n_validation=500, random_state=0),
        0,
        False,
    )
    print(f"  starts at row {position:,}", flush=True)
    rows = stream(rows_file, chunk_size=N // 10, start=position)

    def on_chunk(learner: Learner) -> None:
        checkpoint.write_if_due(learner, rows.position)
        if rows.position == die_at:
            os.kill(os.getpid(), signal.SIGKILL)  # nothing after this line runs

    if not finished:
        learner.learn(rows, on_chunk)
        checkpoint.write(learner, rows.position, finished=True)
    return learner


# %% The first process is killed at 60% of the rows, the second resumes, a third is never interrupted.
def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.npy"
        np.save(rows_file, np.random.default_rng(0).normal(size=(N, 8)).astype(np.float32))
        print("a process that is killed:", flush=True)
        died = subprocess.run([sys.executable, __file__, str(rows_file), f"{folder}/killed.mcm", str(N * 6 // 10)])
        print(f"  ended with {died.returncode}")
        print("the same again:")
        resumed = learn(rows_file, Path(folder) / "killed.mcm")
        print("never interrupted:")
        straight = learn(rows_file, Path(folder) / "straight.mcm")
    print("the same learner, bit for bit:", resumed.to_bytes() == straight.to_bytes())
    assert resumed.to_bytes() == straight.to_bytes()


if __name__ == "__main__":
    if len(sys.argv) == 4:
        learn(Path(sys.argv[1]), Path(sys.argv[2]), die_at=int(sys.argv[3]))
    else:
        main()
