"""Run the benchmarks one after another, each in a separate process.

    python benchmarks/run.py [--quick] [--only NAME ...] [--peer-python [PACKAGE=]INTERPRETER]

Allow three hours on 2 cores that do nothing else; with --quick some minutes. Results go to benchmarks/results
(with --quick to results/quick); afterwards `python benchmarks/tables.py` puts the tables into README and docs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from common import RESULTS, thread_env

HERE = Path(__file__).resolve().parent
SCRIPTS = {path.stem: path for folder in ("speed", "papers") for path in sorted((HERE / folder).glob("*.py"))}
WITH_PEERS = (
    "coreset_kmeans",
    "coreset_stream",
    "dp_mixture",
    "exemplars",
    "forgetting",
    "forgetting_regression",
    "linear",
    "logdet",
    "rim",
    "sparse_gp",
    "topics",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS), metavar="NAME")
    parser.add_argument("--peer-python", action="append", default=[], metavar="[PACKAGE=]INTERPRETER")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for the papers' scripts; all cores")
    args = parser.parse_args()
    failed, start = [], time.perf_counter()
    for name in args.only:
        command = [sys.executable, str(SCRIPTS[name])] + ["--quick"] * args.quick
        if name in WITH_PEERS:
            command += [part for text in args.peer_python for part in ("--peer-python", text)]
        print(f"\n==== {name} ====", flush=True)
        if subprocess.run(command, env=thread_env(args.threads)).returncode:
            failed.append(name)
    print(f"\n==== all, after {(time.perf_counter() - start) / 60:.1f} minutes ====")
    for name in args.only:
        path = (RESULTS / "quick" if args.quick else RESULTS) / f"{name}.json"
        bars = json.loads(path.read_text())["bars"] if name not in failed else []
        missed = [bar for bar in bars if bar["met"] is not True]
        print(f"{name}: " + ("failed" if name in failed else f"{len(bars) - len(missed)} of {len(bars)} bars met"))
        for bar in missed:
            print(f"    {'not met' if bar['met'] is False else 'unclear'}: {bar['wish']}: {bar['measured']}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
