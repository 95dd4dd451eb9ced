"""`proofgym history`: look at the few kilobytes that a run's weights can be rebuilt from."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from proofgym.errors import HistoryError, no_file

_HELP = "The history of a run.\n\nExample: proofgym history verify latest"
app = typer.Typer(help=_HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
Which = Annotated[str, typer.Argument(help="Run id, 'latest', or the path of a history file.")]
Runs = Annotated[Path, typer.Option(help="Directory that holds the runs.")]


@app.callback(help=_HELP)
def _group() -> None:
    """The history of a run."""


@app.command()
def verify(run: Which, runs: Runs = Path("runs")) -> None:
    """Check every digest of the chain; nothing is changed. The last line is JSON.

    Example: proofgym history verify latest
    """
    from proofgym.evolution import history

    path = _path(run, runs)
    began = time.monotonic()
    record = history.read(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        whole = file.read(len(history.MAGIC)) == history.MAGIC  # and not compact
    cut_off = max(0, size - record.length) if whole else 0
    print(f"{path}: {record.iterations} iterations, {size} bytes, every digest fits")
    if cut_off:
        print(f"{cut_off} bytes at the end are a cut-off entry; resuming removes them")
    result = {
        "iterations": record.iterations,
        "bytes": size,
        "cut_off": cut_off,
        "digest": record.digests[-1].hex(),
        "seconds": round(time.monotonic() - began, 4),
    }
    print(json.dumps(result))


@app.command()
def show(
    run: Which,
    last: Annotated[int, typer.Option(min=1, help="Iterations to list.")] = 20,
    runs: Runs = Path("runs"),
) -> None:
    """What the run perturbs and how, and its last iterations; the first is 1.

    A digest is the chain's after that iteration, whose weights `proofgym export --at` writes.

    Example: proofgym history show latest --last 5
    """
    from proofgym.evolution import history
    from proofgym.evolution.history import Update

    record = history.read(_path(run, runs))
    print_perturbed(record)
    updates = [entry for entry in record.entries if isinstance(entry, Update)]
    print(f"{'iteration':>9s} {'kept':>5s} {'rms c':>10s} {'max |c|':>9s}  digest")
    for entry in updates[-last:]:
        print(_line(entry, record.digests[entry.iteration + 1]))


def print_perturbed(record: Any, tensors: bool = True) -> None:
    """The noise of a run, how much it perturbs and how much it leaves as it is; each tensor by name
    unless `tensors` is off.

    Raises:
        HistoryError: the history's header does not say.
    """
    from proofgym.evolution.manifest import Manifest
    from proofgym.evolution.specification import Specification

    if missing := [name for name in ("specification", "manifest") if name not in record.header]:
        raise HistoryError(f"the header has no {missing[0]!r}: this is not the history of a run")
    chosen = Specification.from_json(record.header["specification"])
    manifest = Manifest.from_json(record.header["manifest"])
    perturbed = list(manifest)
    rank = f"rank {chosen.rank}" if chosen.rank else "full rank"
    print(f"noise {chosen.kind}, {rank}, {chosen.population} members, seed {chosen.seed}")
    unit = "" if chosen.unit == 1 else f" x {chosen.unit:.6g}"
    print(f"sigma {chosen.sigma:.6g} = {chosen.k} x 2^{chosen.scale}{unit}; s = 2^{chosen.scale}")
    print(f"{len(perturbed)} of {len(manifest.tensors)} tensors are perturbed,", end=" ")
    print(f"{sum(it.size for it in perturbed)} weights")
    for tensor in perturbed if tensors else ():
        print(_tensor_line(tensor) + (f", k x 2^{tensor.shift}" if tensor.shift else ""))
    frozen = [tensor for tensor in manifest.tensors if not tensor.perturbed]
    if frozen:
        print(f"{len(frozen)} stay as they are, {sum(it.size for it in frozen)} weights")
    for tensor in frozen if tensors else ():
        print(_tensor_line(tensor))


def _tensor_line(tensor: Any) -> str:
    tied = f", also {', '.join(tensor.aliases)}" if tensor.aliases else ""
    return f"  {tensor.name} {list(tensor.shape)} {tensor.dtype}{tied}"


@app.command()
def compact(
    run: Which,
    to: Annotated[Path, typer.Option(help="File to write.")],
    runs: Runs = Path("runs"),
) -> None:
    """Write the history in about half the bytes; it can be read and replayed as it is.

    Example: proofgym history compact latest --to history.pgec
    """
    from proofgym.evolution import compact as packing
    from proofgym.evolution import history
    from proofgym.run_directory import write_atomically

    path = _path(run, runs)
    if to.exists():
        raise HistoryError(f"{to} already exists; name a new file")
    record = history.read(path)
    data = packing.pack(record)
    write_atomically(to, data)
    print(f"{to}: {len(data)} bytes instead of {path.stat().st_size}")


def _line(entry: Any, digest: bytes) -> str:
    values = entry.coefficients
    rms = math.sqrt(sum(c * c for c in values) / max(1, entry.kept))
    largest = max(map(abs, values), default=0)
    return f"{entry.iteration + 1:9d} {entry.kept:5d} {rms:10.1f} {largest:9d}  {digest.hex()[:16]}"


def _path(run: str, runs: Path) -> Path:
    from proofgym.evolution.replay import HISTORY
    from proofgym.run_directory import RunDirectory

    if Path(run).is_file():
        return Path(run)
    if "/" in run and not Path(run).exists():
        raise HistoryError(no_file(Path(run)))
    directory = RunDirectory.read(runs, run)
    path = directory.path / HISTORY
    if not path.is_file():
        raise HistoryError(f"run {directory.id} has no {HISTORY}: its algorithm keeps none")
    return path
