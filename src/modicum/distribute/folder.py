"""Shards that are done, kept in a folder: a job that is started again skips them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from modicum.exceptions import StateError
from modicum.state.files import write_atomically

JOB = "job.json"


class Folder:
    """States of the shards of one job. The seed of the first start is used again, so that shards go together."""

    def __init__(self, path: str | os.PathLike[str], job: bytes, seed: int):
        self._path = Path(path)
        self._path.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(job).hexdigest()
        known = self._read()
        if known is None:
            known = {"job": digest, "seed": seed}
            write_atomically(self._path / JOB, json.dumps(known).encode())
        elif known["job"] != digest:
            raise StateError(
                f"{self._path} holds shards of another job: other rows, parameters or shards. Name another folder, or "
                "remove it."
            )
        self.seed = int(known["seed"])

    def _read(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self._path / JOB).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            found = None
        kinds = {"job": str, "seed": int}
        if not isinstance(found, dict) or not all(isinstance(found.get(name), kind) for name, kind in kinds.items()):
            raise StateError(f"{self._path / JOB} is damaged. Remove the folder to start over.")
        return found

    def state(self, number: int) -> bytes | None:
        """The state of a shard, if it is done."""
        try:
            return self._file(number).read_bytes()
        except FileNotFoundError:
            return None

    def keep(self, number: int, state: bytes) -> None:
        write_atomically(self._file(number), state)

    def _file(self, number: int) -> Path:
        return self._path / f"shard-{number:05d}.mcm"
