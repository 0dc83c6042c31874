"""Seconds of the first call: every learner and some commands in a new process, without and with compiled loops on disk.

    python benchmarks/speed/first_calls.py [--quick] [--repeat 3] [--before CHECKOUT]

scikit-learn's digits (1,797 x 64 float64), one thread. A learner is imported, then timed once in `fit`; a command is
timed as a whole process. The first process starts with an empty numba cache and compiles, the second loads what the
first one stored. Seconds are those of the processor: compilation runs on one core, and a busy machine does not count.
`--before` measures another checkout too; without it, its numbers are taken over from the last result file.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import RESULTS, ROOT, Result, arguments, thread_env

COMMAND = "python benchmarks/speed/first_calls.py"
COMMANDS = {
    "modicum select": ["select"],
    "modicum coreset": ["coreset"],
    "modicum fit online-kmeans": ["fit", "online-kmeans"],
}
SELECT_SECONDS = 2.0


# ---- workers -----------------------------------------------------------------------------------------------


class Names(dict):
    """The public names of modicum, each imported when it is used."""

    def __missing__(self, name):
        import modicum

        return getattr(modicum, name)


def list_learners():
    from learners import LEARNERS, seeded

    return {name: repr(seeded(variants[0])) for name, variants in LEARNERS.items()}


def fit(text):
    """Make a learner from its repr and fit it."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    start = time.process_time()
    learner = eval(text, {}, Names())
    imported = time.process_time()
    learner.fit(X, y)
    return {"seconds": time.process_time() - imported, "import_seconds": imported - start}


def worker(what):
    print(json.dumps(list_learners() if what == "list" else fit(what)))


# ---- runs --------------------------------------------------------------------------------------------------


def run(checkout, command, cache):
    """Run a command on the package of a checkout; standard output and the processor seconds of the whole process."""
    paths = {"PYTHONPATH": f"{checkout}/src:{checkout}/tests", "NUMBA_CACHE_DIR": str(cache)}
    start = cpu_seconds_of_children()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        env=thread_env(1) | paths,
        cwd=cache,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command[-2:]}: {done.stderr.strip()[-400:]}")
    return done.stdout, cpu_seconds_of_children() - start


def cpu_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ask_worker(checkout, what, cache):
    return json.loads(run(checkout, [__file__, "--worker", what], cache)[0].splitlines()[-1])


def first_and_second(measure, checkout, what):
    """What `measure` returns for two consecutive processes that share a cache, empty at first."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = measure(checkout, what, cache), measure(checkout, what, cache)
        n_loops = len(list(Path(cache).rglob("*.nbc")))
    more = {name: value for name, value in first.items() if name != "seconds"}
    return {"first": first["seconds"], "second": second["seconds"], "n_loops": n_loops, **more}


def time_command(checkout, arguments, cache):
    rows = Path(cache) / "digits.npy"
    if not rows.exists():
        from sklearn.datasets import load_digits

        np.save(rows, load_digits().data)
    command = ["-m", "modicum", *arguments, str(rows), "-o", str(Path(cache) / "out.csv")]
    return {"seconds": run(checkout, command, cache)[1]}


def measure(checkout, repeat, only=None):
    """{name: medians of seconds} of all learners and commands of a checkout."""
    with tempfile.TemporaryDirectory() as cache:
        learners = ask_worker(checkout, "list", cache)
    jobs = {name: (ask_worker, text) for name, text in learners.items()}
    jobs |= {name: (time_command, arguments) for name, arguments in COMMANDS.items()}
    found = {}
    for name, (how, what) in jobs.items():
        if only and name not in only:
            continue
        runs = [first_and_second(how, checkout, what) for _ in range(repeat)]
        found[name] = {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        print(f"{name}: {found[name]['first']:.2f} s, then {found[name]['second']:.2f} s", file=sys.stderr, flush=True)
    return found


def before(args):
    """Seconds of the other checkout, or those of the last result file."""
    if args.before:
        return measure(Path(args.before).resolve(), args.repeat)
    last = RESULTS / "first_calls.json"
    return json.loads(last.read_text())["before"] if last.exists() else {}


# ---- table -------------------------------------------------------------------------------------------------


COLUMNS = [
    ("name", "first call of", ""),
    ("before_first", "before: empty cache, s", ".2f"),
    ("first", "empty cache, s", ".2f"),
    ("before_second", "before: filled cache, s", ".2f"),
    ("second", "filled cache, s", ".2f"),
    ("n_loops", "loops compiled", "d"),
]


def bars(result, select):
    """The whole command is the aim; compilation is the share that depends on the loops."""
    wish = f"modicum select with an empty cache, imports and all: less than {SELECT_SECONDS:g} s"
    result.bar(wish, f"{select['first']:.2f} s", select["first"] < SELECT_SECONDS)
    compiling = select["first"] - select["second"]
    wish = f"modicum select: an empty cache costs less than {SELECT_SECONDS:g} s more than a filled one"
    result.bar(wish, f"{compiling:.2f} s", compiling < SELECT_SECONDS)


def main():
    args = arguments(__doc__, repeat={"type": int, "default": 3}, before={"metavar": "CHECKOUT"})
    args.repeat = 1 if args.quick else args.repeat
    old = before(args)
    result = Result("first_calls", COMMAND, args, repeat=args.repeat, before=old)
    new = measure(ROOT, args.repeat, ["OnlineGreedy", "modicum select"] if args.quick else None)
    rows = [
        {"name": name, **facts, "n_loops": int(facts["n_loops"])}
        | {f"before_{key}": old.get(name, {}).get(key) for key in ("first", "second")}
        for name, facts in new.items()
    ]
    result.table("seconds", COLUMNS, rows)
    bars(result, new["modicum select"])
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
    else:
        main()
