"""A PostgreSQL server for tests, from the packages of the system, in a folder of its own on loopback."""

import glob
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"  # PostgreSQL refuses to run as root


def find_programs():
    """The folder of `initdb` and `pg_ctl`; None if PostgreSQL is not installed."""
    folders = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), *os.environ["PATH"].split(os.pathsep)]
    return next(
        (Path(folder) for folder in folders if Path(folder, "pg_ctl").exists() and Path(folder, "initdb").exists()),
        None,
    )


@contextmanager
def postgres(folder):
    """The URL of a server, to which the name of a database is to be added."""
    programs, data = find_programs(), folder / "data"
    data.mkdir(mode=0o700)
    as_root = os.geteuid() == 0
    if as_root:
        for path in (folder, data):
            shutil.chown(path, USER)
        for parent in folder.parents:  # pytest's folders are root's alone
            if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
    port = free_port()

    def run(name, *arguments):
        before = ["runuser", "-u", USER, "--"] if as_root else []
        return subprocess.run([*before, str(programs / name), *arguments], capture_output=True, text=True, cwd=folder)

    def must(done):
        assert done.returncode == 0, done.stdout + done.stderr

    must(run("initdb", "-D", str(data), "-A", "trust", "-U", USER, "--no-sync"))
    options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=on"
    must(run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start"))
    try:
        yield f"postgresql://{USER}@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
