"""`eval-pipeline ui`: Dagster on this machine, which ends whole when the command ends, whatever ended it."""

import ipaddress
import os
import socket
import sys
from typing import Annotated

import typer

from assets.partitions import standing_corpus
from assets.resources import tracks_folder
from assets.run import WORKSPACE, dagster_home, offer_tracks, offer_workspaces
from eval_pipeline.cli.guard import run_guarded
from eval_pipeline.errors import Refused
from eval_pipeline.studies.label_signal.track import discover


def ui(
    port: Annotated[int, typer.Option(help="The port of the web server.", min=1, max=65535)] = 3000,
    host: Annotated[
        str, typer.Option(help="The address it listens on; one that other machines reach is warned of.")
    ] = "127.0.0.1",
) -> None:
    """Open Dagster on this machine, with the runs of the command line in its history."""
    _require_free(host, port)
    environment = os.environ | {"DAGSTER_HOME": str(dagster_home())}
    offer_tracks(list(discover(tracks_folder()).folders))
    offer_workspaces(standing_corpus().workspaces)
    if not _is_loopback(host):
        typer.echo(
            f"eval-pipeline: other machines reach {host}, and the user interface asks nobody who they are: whoever"
            " reaches it reads all findings and starts runs; put a proxy with a login before it, or leave --host out",
            err=True,
        )
    workspace = ["-w", str(WORKSPACE)] if WORKSPACE.exists() else ["-m", "assets.definitions"]
    dagster = [sys.executable, "-W", "ignore", "-m", "dagster", "dev", *workspace, "-h", host, "-p", str(port)]
    typer.echo(f"Dagster on http://{host}:{port}; end it with Ctrl+C")
    if (status := run_guarded(dagster, environment)) is not None:
        raise Refused(f"the user interface has ended by itself (exit status {status}); its last lines say why")


def _require_free(host: str, port: int) -> None:
    """That a server may listen there.

    Raises: Refused: another one does, or this machine has no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise Refused(
            f"nothing can listen on {host}:{port} ({error.strerror}); name another address or port with --host and"
            " --port"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
