"""Training over several devices of one host, one process each.

All weights: FSDP2 (`fully_shard`), so that master weights, gradients and moments are in shards. A
LoRA: each rank has the base and its own copy of the small factors, and gradients are added up.
Rank 0 is the process of the run; it tells the others what to do (`ShardedTrainer`), and they do it
together (`Rank`). The engine lives on rank 0's device.
"""

from __future__ import annotations

import datetime
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from proofgym.errors import RunError
from proofgym.trainer.options import TrainerOptions
from proofgym.trainer.policy import Policy
from proofgym.trainer.rows import Row
from proofgym.trainer.sample import Sample
from proofgym.trainer.trainer import Loss, Trainer

#: Ranks wait this long for each other, a run's generation and verification included.
PATIENCE = datetime.timedelta(hours=12)


class Rank(Trainer):
    """One rank's share of a trainer. Every method is called on all ranks together."""

    def _make_policy(self, engine_model: Any, seed: int, reference: bool) -> Policy:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        for tensor in engine_model.state_dict().values():
            dist.broadcast(tensor, 0)
        policy = Policy(
            engine_model, self.options.lora, seed, reference, own=True, pull=self._entropy
        )
        self._prepare_layers(policy)
        if self.options.lora is None:
            mesh = init_device_mesh(self.device.type, (dist.get_world_size(),))
            for scorer in policy.scorers:
                for layer in scorer.model.model.layers:
                    fully_shard(layer, mesh=mesh)
                fully_shard(scorer, mesh=mesh)
        return policy

    def _batches(self, samples: Sequence[Sample]) -> list[tuple[list[Row], float]]:
        """Every n-th batch; as many on each rank, since all must take part in each pass."""
        every = super()._batches(samples)
        rank, ranks = dist.get_rank(), dist.get_world_size()
        mine = every[rank::ranks]
        company = [(batch, 0.0) for batch, _ in every[:1]]
        return mine + company * (-(-len(every) // ranks) - len(mine))

    def _backward(self, loss: Tensor) -> None:
        if self.options.lora is None:
            loss = loss * dist.get_world_size()  # FSDP takes the mean over ranks; losses are sums
        super()._backward(loss)

    def _clip(self) -> float:
        if self.options.lora is not None:
            for parameter in self.policy.trained.values():
                dist.all_reduce(parameter.grad)
        return super()._clip()

    def _over_ranks(self, sums: dict[str, Tensor]) -> dict[str, Tensor]:
        stacked = torch.stack([value.float() for value in sums.values()])
        dist.all_reduce(stacked)
        return dict(zip(sums, stacked, strict=True))

    def _from_ranks(self, found: dict[int, Any]) -> dict[int, Any]:
        parts: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(parts, found)
        return {place: values for part in parts for place, values in part.items()}

    def _put(self, held: Tensor, value: Tensor) -> None:
        from torch.distributed.tensor import DTensor, distribute_tensor

        if isinstance(held, DTensor):
            value = distribute_tensor(value.to(self.device), held.device_mesh, held.placements)
        held.copy_(value)


class ShardedTrainer(Rank):
    """The trainer of a run over `ranks` processes; the others end with it, or with this process."""

    def __init__(
        self,
        engine_model: Any,
        options: TrainerOptions,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        reference: bool = False,
        entropy: bool = False,
        ranks: int,
    ) -> None:
        device = next(engine_model.parameters()).device
        if device.type == "cuda" and torch.cuda.device_count() < ranks:
            raise RunError(
                f"Local.ranks = {ranks}: this machine has {torch.cuda.device_count()} GPUs"
            )
        store = dist.TCPStore("127.0.0.1", 0, ranks, True, PATIENCE, wait_for_workers=False)
        settings: dict[str, Any] = {"seed": seed, "temperature": temperature}
        settings |= {"reference": reference, "entropy": entropy}
        model = type(engine_model), engine_model.config, engine_model.dtype
        self._others = [
            _start((device.type, store.port, rank, ranks, model, options, settings))
            for rank in range(1, ranks)
        ]
        self._closing = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            join(store, device, 0, ranks)
            super().__init__(engine_model, options, **settings)
        except BaseException:
            self._end()
            raise

    def step(self, samples: Sequence[Sample], loss: Loss, rate: float = 1.0) -> dict[str, float]:
        tell("step", samples, loss, rate)
        return super().step(samples, loss, rate)

    def logprobs(
        self,
        samples: Sequence[Sample],
        reference: bool = False,
        temperature: float | None = None,
    ) -> list[Any]:
        tell("logprobs", samples, reference, temperature)
        return super().logprobs(samples, reference, temperature)

    def publish(self) -> int:
        tell("publish")
        return super().publish()

    def state(self) -> dict[str, Tensor]:
        tell("state")
        return super().state()

    def load(self, state: Mapping[str, Tensor], steps: int) -> None:
        tell("load", dict(state), steps)
        Rank.load(self, state, steps)

    def close(self) -> None:
        super().close()
        self._closing.set()
        tell("close")
        dist.destroy_process_group()
        self._end()

    def _watch(self) -> None:
        """A rank that dies would leave this process waiting for it in vain: end it too. What was
        saved is whole; `proofgym resume` goes on from there."""
        while not self._closing.wait(1.0):
            for rank, process in enumerate(self._others, start=1):
                if process.poll() is not None:
                    print(f"proofgym: rank {rank} died ({process.returncode})", file=sys.stderr)
                    self._kill_others()
                    os._exit(3)

    def _kill_others(self) -> None:
        for process in self._others:
            process.kill()
            process.wait()

    def _end(self) -> None:
        """The others end when rank 0 does; one that does not is killed."""
        self._closing.set()
        for process in self._others:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def tell(name: str, *arguments: Any) -> None:
    """From rank 0: have every rank call a method of its `Rank`."""
    dist.broadcast_object_list([(name, arguments)], 0)


def join(store: Any, device: torch.device, rank: int, ranks: int) -> None:
    """Meet the other ranks."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=PATIENCE)


def _start(setup: tuple[Any, ...]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "proofgym.trainer.rank"],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdin
    process.stdin.write(pickle.dumps(setup))
    process.stdin.close()
    return process
