"""Contestants that run one at a time, each in a separate process, and maybe in another interpreter.

A script with contestants answers `SCRIPT --worker NAME SIZES...` with one line of JSON. Peers that are incompatible
with modicum, or with each other, run in separate interpreters.
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
    """One run; {"status": "ok", ...} with the worker's results, or the reason of its failure."""
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


def run_rounds(script, packages, sizes, args, *, threads=(1,), yardstick=None):
    """{(name, threads): runs} of all contestants, given as {name: package}; sizes(turn) are those of one round.

    Round by round, so that a slow moment of the machine affects all alike. What fails runs once; so does what takes
    over 10 s, unless it is the yardstick. What is over the limit with the first number of threads isn't repeated.
    """
    runs = {(name, count): [] for count in threads for name in packages}
    pythons = interpreters(args.peer_python)
    for turn in range(args.repeat):
        for (name, count), done in runs.items():
            if done and (done[-1]["status"] != "ok" or (done[-1]["seconds"] > 10 and name != yardstick)):
                continue
            first = runs[name, threads[0]]
            if not done and first and first[0]["status"].startswith("over"):
                done.append({"status": f"{first[0]['status']} even with {threads[0]} threads"})
                continue
            done.append(
                run_worker(script, name, packages[name], sizes(turn), threads=count, limit=args.limit, pythons=pythons)
            )
            measured = "{seconds:.3f} s".format(**done[-1]) if "seconds" in done[-1] else done[-1]["status"]
            print(f"round {turn + 1}, {count} thread(s), {name}: {measured}", file=sys.stderr, flush=True)
    return runs
