"""`modicum crowd serve`: the pages of a project."""

import socket
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modicum._optional import require
from modicum.cli.crowd_project import ProjectOption, open_project
from modicum.cli.printing import say
from modicum.exceptions import DataError

if TYPE_CHECKING:
    from modicum.web.store import Project

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_LINKS = 12  # of workers, that are printed
KEEP = 75  # seconds that a connection stays open between two moves: to open one takes longer than to save a move
GRACE = 5  # seconds for requests under way, when the server ends

Host = Annotated[str, typer.Option(help="Address to listen on: 0.0.0.0 is the whole network.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")]
Url = Annotated[
    str | None, typer.Option("--url", help="Where people reach the server, if not there: https://sort.example.org.")
]


def command(project: ProjectOption = None, host: Host = "127.0.0.1", port: Port = 8000, url: Url = None) -> None:
    """Show the pages of a project, until Ctrl-C: workers sort, the owner watches and finds the clusters.

    The owner's link is made anew at every start, and printed once. Workers have links of their own, which stay the
    same: they are on the owner's pages. Only this machine is served unless --host says otherwise.
    """
    require("fastapi", "crowd serve")
    require("uvicorn", "crowd serve")
    with open_project(project).closing() as its:
        serve(its, host, port, url)


def serve(project: "Project", host: str, port: int, url: str | None = None) -> None:
    """Print the links, and serve until the process is told to end."""
    import uvicorn

    from modicum.web.app import make_app
    from modicum.web.store.codes import new_token

    token = new_token()
    with _listening(host, port) as listener:
        where = (url or f"http://{_in_url(host)}:{listener.getsockname()[1]}").rstrip("/")
        if host not in LOOPBACK and not where.startswith("https:"):
            say(f"warning: others reach {host} without encryption. Put a server with TLS in front, and give its --url.")
        settings = uvicorn.Config(
            make_app(project, token, url),
            log_level="warning",
            access_log=False,
            timeout_keep_alive=KEEP,
            timeout_graceful_shutdown=GRACE,
        )
        _say_links(project, where, token)
        uvicorn.Server(settings).run(sockets=[listener])


def _say_links(project: "Project", where: str, token: str) -> None:
    workers = [row for row in project.invited() if row.code and row.active]
    say(f"workers enter at {where}/ with their code, or by their link:")
    for row in workers[:MOST_LINKS]:
        say(f"  {row.name}: {where}/w/{row.code}")
    if len(workers) > MOST_LINKS:
        say(f"  and {len(workers) - MOST_LINKS:,} more, on the owner's pages")
    if not workers:
        say("  nobody was invited yet: the owner's pages can do that, or modicum crowd plan --workers 3")
    say(f"you are the owner: {where}/owner/enter/{token}\nkeep this link to yourself; Ctrl-C ends")


def _listening(host: str, port: int) -> Any:
    """A socket that listens; a `DataError` if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise DataError(f"can't listen on {host}, port {port}: {error}. Choose another one with --port.") from None
    return listener


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else {"0.0.0.0": socket.gethostname()}.get(host, host)
