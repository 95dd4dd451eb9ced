"""How fast conversations of several turns are answered: is what was read before read again?

    python benchmarks/later_turns.py [--conversations 32] [--turns 4] [--prompt 200] [--message 48]

SmolLM2-135M, random tokens, no end token: every conversation begins with a prompt, and each turn is
answered with a message until there are no more. Three ways in one run:

- `kept`: as environments are answered;
- `again`: the same requests, each of which is a conversation of its own: its prompt is read whole;
- `one turn`: the prompts are answered once, with as many tokens as all turns have: what it would
  take if messages cost nothing to read, and their places held no tokens.

The last line is JSON: `tokens_per_s` (written by the model), `vs_again`, `vs_one_turn`.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from timing import GPU, once

from proofgym.clusters.local import Local
from proofgym.engines.transformers import TransformersEngine
from proofgym.job import Model
from proofgym.types import Completion, Request, Sampling


class Talks:
    """A feed: messages of random tokens after each turn but the last."""

    def __init__(self, first: list[Request], turns: int, messages: np.ndarray, context: int):
        self.context, self.rows = context, len(first)
        self.conversations, self.open = len(first), len(first)
        self._coming, self._turns, self._messages = deque(first), turns, messages

    def take(self, wait: bool) -> list[Request] | None:
        taken = list(self._coming)
        self._coming.clear()
        return taken if self.open else None

    def ring(self, bell: Callable[[], None]) -> None:
        """It has what it has when it is asked."""

    def ended(self) -> list[Any]:
        return []

    def hear(self, request: Request, completion: Completion, kept: bool) -> None:
        turn = len(request.key)
        if turn == self._turns:
            self.open -= 1
            return
        message = self._messages[request.key[0], turn - 1].tolist()
        prompt = (*completion.prompt_ids, *completion.token_ids, *message)
        of = request.key[:1] if kept else None
        self._coming.append(Request((*request.key, turn), "", 0, prompt, turn_of=of))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=512 if GPU else 32)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--prompt", type=int, default=200)
    parser.add_argument("--message", type=int, default=48)
    parser.add_argument("--completion", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    turns, written = chosen.turns, chosen.turns * chosen.completion
    loaded = Local().load(Model("smollm2-135m", dtype="bfloat16" if GPU else "float32"))
    loaded.model.config.eos_token_id = loaded.model.generation_config.eos_token_id = None
    loaded.tokenizer.eos_token = None
    engine = TransformersEngine(loaded, max_batch=chosen.conversations)
    draw = np.random.default_rng(0)
    shape = chosen.conversations, turns - 1, chosen.message
    messages = draw.integers(3, loaded.model.config.vocab_size, shape)
    first = [
        Request((index,), "", 0, tuple(draw.integers(3, 40_000, chosen.prompt).tolist()))
        for index in range(chosen.conversations)
    ]
    sampling = Sampling(max_tokens=chosen.completion)
    context = chosen.prompt + written + (turns - 1) * chosen.message

    def talk(kept: bool) -> None:
        feed = Talks(first, turns, messages, context)
        for request, completion in engine.generate([], sampling, None, feed):
            assert len(completion.token_ids) == chosen.completion
            feed.hear(request, completion, kept)

    def one_turn() -> None:
        asked = [replace(request, max_tokens=written) for request in first]
        assert len(list(engine.generate(asked, sampling))) == len(first)

    ways = {"kept": lambda: talk(True), "again": lambda: talk(False), "one turn": one_turn}
    for work in ways.values() if GPU else ():
        work()
    spent = {name: [] for name in ways}
    for _ in range(chosen.rounds):
        for name, work in ways.items():
            spent[name].append(once(work))
    seconds = {name: min(each) for name, each in spent.items()}
    tokens = chosen.conversations * written
    for name, each in seconds.items():
        print(f"{name:9s} {each:8.2f} s  {tokens / each:10,.0f} tokens/s")
    print(
        json.dumps(
            {
                "tokens_per_s": round(tokens / seconds["kept"], 1),
                "vs_again": round(seconds["again"] / seconds["kept"], 2),
                "vs_one_turn": round(seconds["one turn"] / seconds["kept"], 2),
                "device": torch.cuda.get_device_name() if GPU else "cpu",
            }
        )
    )


if __name__ == "__main__":
    main()
