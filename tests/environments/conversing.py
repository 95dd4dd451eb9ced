"""Episodes with a tiny random model."""

from __future__ import annotations

from typing import Any

from tiny_models import loaded

from proofgym.engines.transformers import TransformersEngine
from proofgym.environments.episodes import Episodes
from proofgym.types import Request, Rollout, Sampling, Task

CHATML = (
    "{% if tools %}<|im_start|>system\nTools:{% for t in tools %} {{ t | tojson }}{% endfor %}"
    "<|im_end|>\n{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def engine(chat: bool = False, **options: Any) -> TransformersEngine:
    tiny = loaded(**options)
    if chat:
        tiny.tokenizer.add_special_tokens(
            {"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}
        )
        tiny.tokenizer.chat_template = CHATML
    return TransformersEngine(tiny, max_batch=8)


def play(
    episode: Any,
    tasks: int | list[Task] = 1,
    *,
    on: TransformersEngine | None = None,
    turn_tokens: int = 6,
    **options: Any,
) -> list[Rollout]:
    """The attempts, in the order of the tasks."""
    on = on or engine()
    if isinstance(tasks, int):
        tasks = [Task(f"t{n}", f"say {n}: ", data={"n": n}) for n in range(tasks)]
    attempts = Episodes(episode, **options).open(2)
    try:
        requests = [Request((0, n, 0), task.prompt) for n, task in enumerate(tasks)]
        made = attempts.make(on, requests, tasks, Sampling(max_tokens=turn_tokens))
        return sorted((it.result() for it in made), key=lambda it: it.request.key)
    finally:
        attempts.close()


def text_of(rollout: Rollout, tokenizer: Any) -> str:
    """The whole conversation that the last turn is the end of."""
    last = rollout.turns[-1]
    return tokenizer.decode([*last.prompt_ids, *last.token_ids])
