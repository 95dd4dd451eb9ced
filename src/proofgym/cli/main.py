"""`proofgym`: the commands and how their errors are shown."""

from __future__ import annotations

import sys

import typer

from proofgym.cli import (
    compare,
    demo,
    doctor,
    evaluating,
    history,
    lean,
    plan,
    runs,
    sft,
    show,
    train,
    verify,
)
from proofgym.errors import ProofgymError

app = typer.Typer(
    name="proofgym",
    help="Train language models against a verifier: Evolution Strategies and RL for Lean 4 proofs."
    "\n\nExample: proofgym train examples/prove.py",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(train.train)
app.command()(train.resume)
app.command(name="runs")(runs.runs)
app.command()(show.show)
app.command()(runs.export)
app.command(name="eval")(evaluating.evaluate)
app.command()(verify.verify)
app.add_typer(lean.app, name="lean")
app.add_typer(history.app, name="history")
app.command(name="sft")(sft.sft)
app.command()(doctor.doctor)
app.command(name="demo")(demo.demo)
app.add_typer(plan.app, name="plan")
app.command()(compare.compare)
app.command()(compare.sweep)


def main() -> None:
    """Run a command; a `ProofgymError` prints one clear line and exits with status 2."""
    try:
        app()
    except ProofgymError as error:
        print(f"proofgym: {error.boundary}: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a full disk, a folder that may not be written: the user's to mend
        if error.errno is None or isinstance(error, ConnectionError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"proofgym: files: {where}{error.strerror}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
