"""vLLM's side of population_decode.py, run by an interpreter that has vLLM: it needs nothing else.

    PYTHON vllm_decode.py MODEL DTYPE THREADS ROWS POSITIONS CLOCK [ADAPTERS]

MODEL is a directory with weights, ADAPTERS one with a LoRA adapter of rank 1 a member: 0, 1, …
Each line of standard input, {"tokens": N, "prompts": [[id, …], …], "members": [member, …] | null},
is answered by one of {"seconds": …, "read": prompt tokens that no cache had}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    directory, dtype, threads, rows, positions, clock, *adapters = sys.argv[1:]
    now = getattr(time, clock)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM logs to standard output
    os.environ |= {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_CPU_KVCACHE_SPACE": "4",
        "OMP_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "false",
    }
    from vllm import LLM, SamplingParams
    from vllm.lora.request import LoRARequest

    paths = sorted(Path(adapters[0]).iterdir(), key=lambda it: int(it.name)) if adapters else []
    serving: dict[str, Any] = {}
    if paths:
        serving = {"enable_lora": True, "max_loras": len(paths), "max_lora_rank": 1}
    engine = LLM(
        directory,
        dtype=dtype,
        max_model_len=int(positions),
        max_num_seqs=int(rows),
        skip_tokenizer_init=True,
        **serving,
    )
    for line in sys.stdin:
        asked = json.loads(line)
        sampling = SamplingParams(
            temperature=1.0, max_tokens=asked["tokens"], ignore_eos=True, detokenize=False
        )
        chosen = None
        if asked["members"] is not None:
            chosen = [
                LoRARequest(f"member {it}", it + 1, str(paths[it])) for it in asked["members"]
            ]
        prompts = [{"prompt_token_ids": ids} for ids in asked["prompts"]]
        began = now()
        outputs = engine.generate(prompts, sampling, lora_request=chosen, use_tqdm=False)
        seconds = now() - began
        written = {len(it.outputs[0].token_ids) for it in outputs}
        if written != {asked["tokens"]}:
            raise SystemExit(f"completions of {written} tokens: something ended early")
        cached = sum(it.num_cached_tokens or 0 for it in outputs)
        read = sum(map(len, asked["prompts"])) - cached
        print(json.dumps({"seconds": seconds, "read": read}), file=answers, flush=True)


main()
