"""Fixtures that many tests share."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Tests run beside other work; two spinning OpenMP threads on a busy core are slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without a GPU kernels run in Triton's interpreter, and whoever imports Triton first (torch's
# compiler, say) settles it.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")
# A shell's background job ignores Ctrl-C, and so would all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face directory with a two-layer Llama over single characters, random weights."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    characters = sorted(set("abcdefghijklmnopqrstuvwxyz0123456789 \n.:=()"))
    words = {word: place for place, word in enumerate(["<eos>", "<unk>", *characters])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def job_file(request: pytest.FixtureRequest, tiny_model: Path, tmp_path: Path) -> Path:
    """The test file's `JOB`, with the tiny model for its `{model!r}` and eight `{tasks!r}`."""
    tasks = tmp_path / "tasks.jsonl"
    lines = [
        {"name": f"t{i}", "prompt": f"say {i}: ", "topic": "letters", "difficulty": 1, "proof": "e"}
        for i in range(8)
    ]
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = tmp_path / "tiny_job.py"
    path.write_text(request.module.JOB.format(model=str(tiny_model), tasks=str(tasks)))
    return path
