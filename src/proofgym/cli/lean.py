"""`proofgym lean serve`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from proofgym.cli.options import as_options
from proofgym.errors import ConfigError, no_file

_HELP = "Lean as a service.\n\nExample: proofgym lean serve --port 8000 --key-file key.txt"
app = typer.Typer(help=_HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
KEY_VARIABLE = "PROOFGYM_API_KEY"
_NEEDED = ("fastapi", "prometheus_client", "uvicorn")


@app.callback(help=_HELP)
def _group() -> None:
    """Lean as a service."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    key_file: Annotated[
        Path | None, typer.Option(help=f"File with the bearer key; else ${KEY_VARIABLE}.")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open-to-all", help="Allow other machines in without a key.")
    ] = False,
    toolchain: Annotated[str | None, typer.Option(help="A lean binary or Lake project.")] = None,
    header_file: Annotated[
        Path | None, typer.Option(help="Trusted Lean text before every statement of /v1/verify.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Checks at once; default: cores + 1.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds of a /v1/verify proof.")] = 20.0,
    longest: Annotated[float, typer.Option(help="Most seconds a check may ask for.")] = 300.0,
    memory_mb: Annotated[int, typer.Option(help="Memory of one check.")] = 2048,
    request_mb: Annotated[float, typer.Option(help="Largest request body, MiB.")] = 64.0,
    snippet_kb: Annotated[float, typer.Option(help="Largest snippet, KiB.")] = 1024.0,
    queue: Annotated[int, typer.Option(help="Most snippets that wait or run.")] = 20_000,
    rate: Annotated[float | None, typer.Option(help="Requests a second, per address.")] = None,
    burst: Annotated[int, typer.Option(help="Requests at once before --rate counts.")] = 20,
    connections: Annotated[int, typer.Option(help="Connections at once.")] = 1000,
    patience: Annotated[float, typer.Option(help="Seconds to wait for a slow client.")] = 30.0,
    drain: Annotated[float, typer.Option(help="Seconds to finish work after SIGTERM.")] = 60.0,
) -> None:
    """Check Lean over HTTP: the kimina-lean-server API, and statement plus proof on /v1/verify.

    Example: proofgym lean serve --port 8000 --key-file key.txt
    """
    if missing := [name for name in _NEEDED if not importlib.util.find_spec(name)]:
        raise ConfigError(f"missing {', '.join(missing)}: pip install -e '.[server]'")
    from proofgym.lean.server.listen import serve as listen
    from proofgym.lean.server.settings import Serving

    settings: dict[str, Any] = {"workers": workers} if workers is not None else {}
    header = _read(header_file, "--header-file") if header_file else ""
    with as_options(
        key=f"--key-file or ${KEY_VARIABLE}",
        header=f"--header-file {header_file}",
        patience_s="--patience",
        drain_s="--drain",
    ):
        chosen = Serving(
            host=host,
            port=port,
            key=_key(key_file),
            open_to_all=open_to_all,
            toolchain=toolchain,
            header=header,
            timeout=timeout,
            longest=longest,
            memory_mb=memory_mb,
            request_mb=request_mb,
            snippet_kb=snippet_kb,
            queue=queue,
            batch=min(4096, max(1, queue)),
            rate=rate,
            burst=burst,
            connections=connections,
            patience_s=patience,
            drain_s=drain,
            **settings,
        )
        listen(chosen)


def _key(path: Path | None) -> str | None:
    """Never an option's value: the arguments of a process can be read by everyone."""
    if path is not None:
        if key := _read(path, "--key-file").strip():
            return key
        raise ConfigError(f"--key-file {path}: is empty")
    given = os.environ.get(KEY_VARIABLE)
    if given is None or given.strip():
        return given and given.strip()
    raise ConfigError(f"${KEY_VARIABLE} is set but empty: set a key, or unset it to need none")


def _read(path: Path, option: str) -> str:
    if path.is_dir() or not path.exists():
        raise ConfigError(f"{option}: {no_file(path)}")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{option} {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        place = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise ConfigError(f"{option} {path}: is not UTF-8 text: {place}") from None
