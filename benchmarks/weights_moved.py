"""What the processes of several engines are told after an update, against telling them everything.

    python benchmarks/weights_moved.py [--model smollm2-135m] [--updates 3]

Gradient steps with GRPO's loss on real text of the model's own, then for each way to train (all
weights in float32, in bfloat16 at two learning rates, a LoRA) in one run:

- `moved`: bytes told to a process after an update, as a share of all tensors that training changes;
- `tell`: seconds to find and write down what changed, `follow`: to put it in place in another
  model, each as a share of what that takes for all tensors whole, in the same memory;
- `socket`: the seconds of sending everything over a socket to a process that copies it to its
  place, as a multiple of handing it over in shared memory.

Bits are compared after each update. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
from typing import Any

import numpy as np
import torch
from timing import GPU, once

from proofgym.algorithms.losses import PolicyLoss
from proofgym.engines.parcels import Mail, Parcel, send
from proofgym.engines.transformers import TransformersEngine
from proofgym.models import load_model
from proofgym.trainer.options import LoRA, TrainerOptions
from proofgym.trainer.sample import sequences
from proofgym.trainer.trainer import Trainer
from proofgym.types import Request, Sampling

WAYS = {
    "float32, 2e-6": ("float32", None, 2e-6),
    "bfloat16, 2e-6": ("bfloat16", None, 2e-6),
    "bfloat16, 2e-5": ("bfloat16", None, 2e-5),
    "LoRA rank 16, 5e-5": ("bfloat16", LoRA(rank=16), 5e-5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--updates", type=int, default=3)
    chosen = parser.parse_args()
    found: dict[str, Any] = {"model": chosen.model}
    for name, way in WAYS.items():
        found[name] = measure(chosen.model, chosen.updates, *way)
        print(f"{name:20}", *(f"{key} {value:.3f}" for key, value in found[name].items()))
    found["socket"] = transfer(found["float32, 2e-6"]["everything_mb"])
    print(f"over a socket: {found['socket']:.2f} times as long as in shared memory")
    print(json.dumps(found))


def measure(model: str, updates: int, dtype: str, lora: LoRA | None, rate: float) -> dict[str, Any]:
    loaded = load_model(model, dtype=dtype, device="cuda" if GPU else "cpu")
    other = load_model(model, dtype=dtype, device="cuda" if GPU else "cpu").model
    samples = attempts(loaded)
    trainer = Trainer(loaded.model, TrainerOptions(lora=lora, learning_rate=rate))
    source = trainer.source()
    replica = source.opening().open(other)
    shares, tell, follow = [], [], []
    for _ in range(updates):
        trainer.step(samples, PolicyLoss())
        trainer.publish()
        told: list[Any] = []
        version = source.version - 1
        seconds = once(lambda told=told, since=version: told.append(source.news(since)))
        after = once(lambda told=told: replica.follow(told[0]))
        assert replica.mark() == source.mark()
        report = source.report()
        shares.append(report["weights_moved_mb"] / report["weights_whole_mb"])
        whole: list[Any] = []
        everything = once(lambda whole=whole: whole.append(Parcel.of(pieces(trainer))))
        copying = once(lambda whole=whole: copy(whole[0], trainer, other))
        tell.append(seconds / everything)
        follow.append(after / copying)
    size = source.everything / 1e6
    trainer.close()
    middle = statistics.median
    return {
        "everything_mb": size,
        "moved": middle(shares),
        "tell": middle(tell),
        "follow": middle(follow),
    }


def attempts(loaded: Any) -> list[Any]:
    """The model's own, half of them said to be better."""
    engine = TransformersEngine(loaded, seed=1)
    requests = [Request((0, n), "Once upon a time there was") for n in range(8)]
    made = [c for _, c in engine.generate(requests, Sampling(max_tokens=16))]
    samples = list(sequences(made))
    total = sum(sample.count for sample in samples)
    for place, sample in enumerate(samples):
        sample.fill("advantage", (-1) ** place)
        sample.fill("weight", 1 / total)
        sample.fill("share", 1 / total)
    return samples


def pieces(trainer: Trainer) -> Any:
    for tensor in trainer.policy.published.values():
        yield tensor.detach().reshape(-1).view(torch.uint8).cpu().numpy()


def copy(parcel: Parcel, trainer: Trainer, model: Any) -> None:
    rest, parameters = memoryview(parcel.read()), dict(model.named_parameters())
    for name in trainer.policy.published:
        flat = parameters[name].detach().view(-1).view(torch.uint8)
        flat.copy_(torch.frombuffer(rest[: len(flat)], dtype=torch.uint8))
        rest = rest[len(flat) :]


def transfer(megabytes: float) -> float:
    """Seconds over a socket by those in shared memory, from bytes here to bytes in place there."""
    data = os.urandom(1 << 20) * int(megabytes)
    return hand_over(data, False) / hand_over(data, True)


def hand_over(data: bytes, shared: bool) -> float:
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        mail, heard = Mail(theirs), []
        into = np.empty(len(data), np.uint8)  # torch's threads do not outlive a fork
        while not heard:
            heard += mail.receive() or ()
        into[:] = np.frombuffer(heard[0].read() if shared else heard[0], np.uint8)
        theirs.send(b".")
        os._exit(0)

    def work() -> None:
        send(ours, Parcel.of([data]) if shared else data)
        ours.recv(1)

    seconds = once(work)
    os.waitpid(child, 0)
    return seconds


if __name__ == "__main__":
    main()
