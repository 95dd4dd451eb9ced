"""vLLM for population_decode.py, in a process of an interpreter that has it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from proofgym.evolution import noise
from proofgym.models import LoadedModel


class Vllm:
    """vLLM in a process of its own, with the same weights; `vllm_decode.py` is the other side."""

    def __init__(self, chosen: Any, loaded: LoadedModel, requests: Any, directory: Path) -> None:
        self._chosen, self._loaded, self._directory = chosen, loaded, directory
        self.name, self.read = directory.name, 0
        self.adapters = directory / "adapters"
        encode = loaded.tokenizer
        self._prompts = [encode(it.prompt).input_ids for it in requests]
        self._members = [it.member for it in requests]
        self._process: Any = None

    def start(self) -> bool:
        """Whether it runs; if not, it has said why."""
        weights = self._directory / "weights"
        self._loaded.model.save_pretrained(weights)
        script = Path(__file__).with_name("vllm_decode.py")
        positions = max(map(len, self._prompts)) + self._chosen.tokens
        settings = [
            self._chosen.dtype,
            torch.get_num_threads(),
            len(self._prompts),
            -(-positions // 128) * 128,
            "process_time" if self._chosen.processor_time else "perf_counter",
            *([self.adapters] if self.adapters.exists() else []),
        ]
        with (self._directory / "log").open("w") as log:
            self._process = subprocess.Popen(
                [self._chosen.vllm, script, weights, *map(str, settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            self.seconds(1)
        except (BrokenPipeError, json.JSONDecodeError):
            lines = (self._directory / "log").read_text().strip().splitlines()
            print(f"{self.name} does not run: {lines[-1]}")
            return False
        return True

    def seconds(self, tokens: int) -> float:
        asked = {
            "tokens": tokens,
            "prompts": self._prompts,
            "members": self._members if self.adapters.exists() else None,
        }
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.read = answer["read"]
        return answer["seconds"]

    def close(self) -> None:
        self._process.communicate()


def write_adapters(run: Any, members: int, directory: Path) -> None:
    """Each member as a LoRA adapter of rank 1, as PEFT stores them."""
    for member in range(members):
        here = directory / str(member)
        here.mkdir(parents=True)
        direction, sign = noise.direction(member, run.state.specification.antithetic)
        tensors, modules = {}, set()
        for patch in run.way._factored._patches:
            name = patch.tensor.name.removesuffix(".weight")
            modules.add(name.rsplit(".", 1)[1])
            tensors[f"base_model.model.{name}.lora_A.weight"] = patch.right[direction].clone()
            tensors[f"base_model.model.{name}.lora_B.weight"] = sign * patch.left[direction].T
        save_file(
            {name: it.cpu().contiguous() for name, it in tensors.items()},
            here / "adapter_model.safetensors",
        )
        settings = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": [*modules]}
        (here / "adapter_config.json").write_text(json.dumps(settings))
