"""Contestants that run one at a time, each in a process of its own, and maybe in another interpreter.

A script with contestants answers `SCRIPT --worker NAME SIZES...` with one line of JSON. Peers that don't get along
with modicum, or with each other, live in interpreters of their own.
"""

import json
import os
import subprocess
import sys
import time

from common import thread_env

AT_HOME = ("modicum", "numpy", "scikit-learn")  # packages that this interpreter has
PEER_OPTIONS = {
    "limit": {"type": float, "default": 120.0, "help": "seconds for one run of one contestant"},
    "peer_python": {"action": "append", "default": [], "metavar": "[PACKAGE=]INTERPRETER"},
}


def interpreters(given):
    """{package: interpreter} from --peer-python, with "*" for all that are not named."""
    pythons = {"*": os.environ.get("MODICUM_PEER_PYTHON", sys.executable)}
    return pythons | dict(text.split("=", 1) if "=" in text else ("*", text) for text in given)


def run_worker(script, name, package, sizes, *, threads, limit, pythons):
    """One run; {"status": "ok", ...} with what the worker tells, or the reason why it didn't."""
    python = pythons.get(package.removesuffix("-select").removesuffix("-py"), pythons["*"])
    python = sys.executable if package in AT_HOME else python
    command = [python, script, "--worker", name, *map(str, sizes)]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=thread_env(threads), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"status": f"over {limit:g} s"}
    if done.returncode:
        return {"status": "failed: " + (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:150]}
    return {"status": "ok", "wall": time.perf_counter() - start, **json.loads(done.stdout.splitlines()[-1])}
