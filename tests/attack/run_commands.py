"""Runs many `modicum` commands in one process: `python run_commands.py JOBS RESULTS FIRST`.

JOBS is a JSON list of commands, each with arguments and perhaps a file to read as standard input. RESULTS gets a line
before each command and a line after it, which shows the command that ended the process.
"""

import contextlib
import io
import json
import resource
import signal
import sys
import traceback

SECONDS = 30  # a command that takes longer hangs, and SIGALRM ends the process
ADDRESS_SPACE = 4 << 30  # so that a source can't take the whole machine


def run(arguments, stdin):
    """Exit code and stderr of a command."""
    from modicum.cli import main

    sys.argv = ["modicum", *arguments]
    sys.stdin = open(stdin or "/dev/null")  # noqa: SIM115
    errors, code = io.StringIO(), None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors), sys.stdin:
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException:
            traceback.print_exc(file=errors)
    return code, errors.getvalue()


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(jobs, first, report):
    import typer

    import modicum.cli.app as commands

    commands.app = typer.main.get_command(commands.app)  # once: it takes longer than most sources
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i, job in enumerate(jobs[first:], first):
        report({"job": i})
        signal.alarm(SECONDS)
        before = peak_mib()
        code, stderr = run(job["arguments"], job["stdin"])
        signal.alarm(0)
        report({"job": i, "code": code, "stderr": stderr, "grown": peak_mib() - before})


if __name__ == "__main__":
    jobs_path, results_path, first_job = sys.argv[1:]
    with open(jobs_path) as jobs_file, open(results_path, "a", buffering=1) as results_file:
        work(json.load(jobs_file), int(first_job), lambda line: print(json.dumps(line), file=results_file))
