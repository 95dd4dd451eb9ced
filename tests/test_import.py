"""Importing proofgym is instant and pulls nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import proofgym


def test_import_takes_under_300_ms_and_loads_nothing_heavy():
    code = (
        "import time; t = time.perf_counter(); import proofgym; s = time.perf_counter() - t\n"
        "import sys; print(s, [m for m in ('torch', 'transformers', 'numba') if m in sys.modules])"
    )
    runs = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(3)]
    assert min(float(run.split()[0]) for run in runs) < 0.3
    assert all(run.strip().endswith("[]") for run in runs)


def test_every_public_name_resolves():
    for name in proofgym.__all__:
        assert getattr(proofgym, name) is not None
