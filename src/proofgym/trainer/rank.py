"""The process of every rank but 0: does what rank 0 tells it. Started by `sharded.py`."""

from __future__ import annotations

import contextlib
import ctypes
import pickle
import signal
import sys
from typing import Any

import torch
import torch.distributed as dist

from proofgym.errors import RunError
from proofgym.trainer.sharded import PATIENCE, Rank, join


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the run's process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 decides what Ctrl-C means
    kind, port, rank, ranks, model, options, settings = pickle.load(sys.stdin.buffer)
    device = torch.device(kind, rank) if kind == "cuda" else torch.device(kind)
    torch.set_num_threads(max(1, torch.get_num_threads() // ranks))
    join(dist.TCPStore("127.0.0.1", port, ranks, False, PATIENCE), device, rank, ranks)
    trainer = Rank(_skeleton(model, device), options, **settings)
    while True:
        told: list[Any] = [None]
        dist.broadcast_object_list(told, 0)
        name, arguments = told[0]
        if name == "close":
            dist.destroy_process_group()
            return
        with contextlib.suppress(RunError):  # rank 0 met the same, and tells the user
            getattr(trainer, name)(*arguments)


def _skeleton(model: tuple[Any, Any, Any], device: torch.device) -> Any:
    """A model of the run's shape; its weights come from rank 0."""
    kind, config, dtype = model
    with device:
        made = kind._from_config(config, dtype=dtype)
    return made.requires_grad_(False).eval()


if __name__ == "__main__":
    main()
