"""Quantised checkpoints give the weights that their format says, or a clear error."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import build_model, build_tokenizer, save
from torch import nn

from proofgym import model_cache
from proofgym.errors import ModelError
from proofgym.evolution import manifest, specification
from proofgym.models import load_model, weights_digest
from proofgym.quantised import require_plain

UP = "model.layers.0.mlp.up_proj.weight"


def rewrite(directory, change, config=None):
    """Change a checkpoint's tensors in place, and what its configuration says of quantisation."""
    file = directory / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, metadata={"format": "pt"})
    if config is not None:
        about = json.loads((directory / "config.json").read_text())
        about["quantization_config"] = config
        (directory / "config.json").write_text(json.dumps(about))


def to_fp8(directory, block, dtype=torch.float8_e4m3fn):
    """Quantise the layers' matrices as fp8 checkpoints are; returns what they then stand for."""
    meant = {}

    def change(tensors):
        for name in [it for it in tensors if ".layers." in it and tensors[it].dim() == 2]:
            weight = tensors[name].numpy()
            high, wide = block or weight.shape
            scales = np.zeros(
                (-(-weight.shape[0] // high), -(-weight.shape[1] // wide)), np.float32
            )
            codes = np.zeros_like(weight)
            for i, j in np.ndindex(scales.shape):
                part = np.s_[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
                scales[i, j] = np.abs(weight[part]).max() / 448
                codes[part] = weight[part] / scales[i, j]
            tensors[name] = torch.from_numpy(codes).to(dtype)
            tensors[f"{name}_scale_inv"] = torch.from_numpy(scales if block else scales[0, 0:1])
            rows, columns = np.indices(weight.shape)
            meant[name] = tensors[name].float().numpy() * scales[rows // high, columns // wide]

    about = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block}
    rewrite(directory, change, about)
    return meant


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize(
    ("block", "said"), [([32, 16], "fp8 in blocks of 32x16"), ([48, 40], "48x40"), (None, "fp8")]
)
def test_fp8_stands_for_its_codes_times_their_scales(tmp_path, block, said, dtype):
    """Also where the last blocks are cut off: 64 rows in blocks of 48."""
    directory = save(tmp_path / "m", "qwen3")
    plain = load_file(directory / "model.safetensors")
    meant = to_fp8(directory, block, dtype)
    loaded = load_model(str(directory))
    for name, parameter in loaded.model.named_parameters():
        expected = torch.from_numpy(meant[name]) if name in meant else plain[name]
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, expected), name
    assert loaded.dequantised_from.endswith(said)
    assert loaded.source == f"{directory}, dequantised from {loaded.dequantised_from}"
    # The digest is that of a dequantised copy, which is how the base is named.
    loaded.model.save_pretrained(tmp_path / "copy")
    build_tokenizer().save_pretrained(tmp_path / "copy")
    copy = load_model(str(tmp_path / "copy"))
    assert (copy.base_digest, copy.dequantised_from) == (loaded.base_digest, None)
    half = load_model(str(directory), dtype="bfloat16")
    assert half.base_digest == loaded.base_digest
    assert half.model.model.layers[0].mlp.up_proj.weight.dtype == torch.bfloat16
    assert half.digest == load_model(str(tmp_path / "copy"), dtype="bfloat16").digest


def test_transformers_dequantises_whole_blocks_to_the_same(tmp_path):
    from transformers import AutoModelForCausalLM, FineGrainedFP8Config

    directory = save(tmp_path / "m", "llama")
    to_fp8(directory, [32, 32])
    theirs = AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, quantization_config=FineGrainedFP8Config(dequantize=True)
    )
    assert weights_digest(theirs) == load_model(str(directory)).base_digest


def test_shards_are_read_together(tmp_path):
    directory = save(tmp_path / "m")
    to_fp8(directory, [32, 32])
    whole = load_model(str(directory)).base_digest
    tensors = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    names = sorted(tensors)
    where = {name: f"model-{place % 2 + 1}.safetensors" for place, name in enumerate(names)}
    for file in set(where.values()):
        part = {name: tensors[name] for name in names if where[name] == file}
        save_file(part, directory / file, metadata={"format": "pt"})
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    assert load_model(str(directory)).base_digest == whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop(f"{UP}_scale_inv"), rf"{UP} is in 8 bits but has no {UP}_scale_inv"),
        (
            lambda t: t.update({f"{UP}_scale_inv": torch.ones(2, 2)}),
            r"shape \[2, 2\].*need \[3, 2\]",
        ),
        (lambda t: t.update({UP: torch.ones(96, 64, dtype=torch.int8)}), "int8, not 8-bit floats"),
        (lambda t: t.update({f"{UP}_scale_inv": torch.ones(3, 2).byte()}), "_scale_inv is .*uint8"),
        (lambda t: (t.pop(UP), t.pop(f"{UP}_scale_inv")), f"has no {UP}"),
    ],
)
def test_fp8_that_does_not_fit_is_refused(tmp_path, change, message):
    directory = save(tmp_path / "m")
    to_fp8(directory, [32, 32])
    rewrite(directory, change)
    with pytest.raises(ModelError, match=message):
        load_model(str(directory))


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes, 4 bits"),
        ({"load_in_8bit": True}, "bitsandbytes, 8 bits"),
        ({"quant_method": "compressed-tensors", "format": "pack-quantized"}, "compressed-tensors"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "torchao"}, "torchao"),
        ({"quant_method": "of next year"}, "of next year"),
        ({"bits": 4}, "a format that it does not name"),
    ],
)
def test_other_formats_are_refused_by_name(tmp_path, config, named):
    directory = save(tmp_path / "m")
    rewrite(directory, lambda tensors: None, config)
    with pytest.raises(ModelError, match=rf"quantised \({named}\).*'fp8'.*save_pretrained"):
        load_model(str(directory))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (  # GPTQ before configurations said so
            lambda t: (
                t.pop(UP),
                t.update({UP.replace("weight", "qweight"): torch.ones(8, 96).int()}),
            ),
            "has no .*up_proj.weight; it has .*up_proj.qweight",
        ),
        (lambda t: t.update({UP: (t[UP] * 50).to(torch.int8)}), r"codes.*up_proj.weight \(int8\)"),
        (
            lambda t: t.update({UP: t[UP].to(torch.float8_e4m3fn)}),
            r"up_proj.weight \(float8_e4m3fn\)",
        ),
        (lambda t: t.pop("model.norm.weight"), "has no model.norm.weight"),
    ],
)
def test_a_checkpoint_whose_weights_are_missing_or_codes_is_refused(tmp_path, change, message):
    """transformers would draw random weights, or take the codes for weights."""
    directory = save(tmp_path / "m")
    rewrite(directory, change)
    with pytest.raises(ModelError, match=message):
        load_model(str(directory))
    tensors = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    torch.save(tensors, directory / "pytorch_model.bin")
    with pytest.raises(ModelError, match=message):
        load_model(str(directory))


class Packed(nn.Module):
    """A linear layer with its weight in a buffer of codes, as GPTQ and AWQ have it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("qweight", torch.ones(4, 4, dtype=torch.int32))
        self.register_buffer("mask", torch.ones(4, 4, dtype=torch.int32), persistent=False)
        self.register_buffer("steps", torch.tensor(3))
        self.norm = nn.LayerNorm(4)


class Sub(torch.Tensor):
    """A tensor that says float32 and holds something else, as torchao's do."""


def with_parameter(parameter):
    model = nn.Linear(2, 2)
    model.weight = nn.Parameter(parameter, requires_grad=False)
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Packed(), r"qweight \(int32\)\."),
        (with_parameter(torch.ones(2, 2, dtype=torch.uint8)), r"weight \(uint8\)"),
        (with_parameter(torch.ones(2, 2).to(torch.float8_e5m2)), r"weight \(float8_e5m2\)"),
        (with_parameter(torch.ones(2, 2).as_subclass(Sub)), r"weight \(Sub\)"),
    ],
)
def test_packed_weights_are_never_perturbed_nor_left_out_silently(model, message):
    with pytest.raises(ModelError, match=message):
        require_plain("it", model)
    chosen = specification.choose(
        seed=0, kind="rademacher", rank=1, antithetic=True, population=2, sigma=0.1, learning_rate=1
    )
    with pytest.raises(ModelError, match=message):
        manifest.build(model, ["*"], chosen)


def test_plain_models_pass():
    for family in ("llama", "qwen2", "qwen3"):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            require_plain(family, build_model(family).to(dtype))
    require_plain("norm", nn.BatchNorm1d(3))  # counts its batches in an integer


def write_gguf(file, kind):
    """A Llama of two layers, its matrices in one of GGUF's types; returns what they stand for."""
    gguf = pytest.importorskip("gguf")
    model, tokenizer = build_model("llama"), build_tokenizer()
    tables = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(300)
    writer.add_tokenizer_model("gpt2")
    words = sorted(tables["vocab"], key=tables["vocab"].get)
    writer.add_token_list(words + [f"<{n}>" for n in range(len(words), 300)])
    writer.add_token_merges(
        [it if isinstance(it, str) else " ".join(it) for it in tables["merges"]]
    )
    writer.add_eos_token_id(0)
    short = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    meant = {}
    for name, parameter in model.named_parameters():
        value = parameter.numpy()
        if name.startswith("model.layers."):
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            stored = f"blk.{layer}.{short[part]}.weight"
        else:
            stored = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm"}
            stored = f"{stored[name]}.weight"
        if value.ndim == 1 or name.startswith("model.embed"):
            writer.add_tensor(stored, value)
            meant[name] = value
            continue
        codes = gguf.quantize(value, kind)
        meant[name] = gguf.dequantize(codes, kind)
        if part in ("self_attn.q_proj", "self_attn.k_proj"):  # GGUF interleaves rotary halves
            codes = (
                codes.reshape(4 if "q_proj" in part else 2, 2, 8, -1)
                .swapaxes(1, 2)
                .reshape(codes.shape)
            )
        writer.add_tensor(stored, codes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return meant


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_gguf_is_dequantised_and_says_from_what(tmp_path, monkeypatch, kind):
    gguf = pytest.importorskip("gguf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    meant = write_gguf(tmp_path / "tiny.gguf", getattr(gguf.GGMLQuantizationType, kind))
    loaded = load_model(str(tmp_path / "tiny.gguf"))
    assert loaded.source == f"tiny.gguf, dequantised from {kind} (GGUF)"
    for name, parameter in loaded.model.named_parameters():
        assert np.array_equal(parameter.numpy(), meant[name]), name
    # A cache of before has no types in its record; the next load adds them.
    where = model_cache.gguf_directory(tmp_path / "tiny.gguf")
    record = model_cache.recorded(where)
    model_cache.write_record(where, {k: v for k, v in record.items() if k != "dequantised_from"})
    assert load_model(str(tmp_path / "tiny.gguf")).dequantised_from == f"{kind} (GGUF)"
    assert model_cache.recorded(where) == record


def test_unquantised_gguf_says_nothing(tmp_path, monkeypatch):
    gguf = pytest.importorskip("gguf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_gguf(tmp_path / "tiny.gguf", gguf.GGMLQuantizationType.F16)
    loaded = load_model(str(tmp_path / "tiny.gguf"))
    assert (loaded.source, loaded.dequantised_from) == ("tiny.gguf", None)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"weight_block_size": [0, 0]}, "not a loadable model directory"),
        ("fp8", "not a loadable model directory"),
    ],
)
def test_a_configuration_without_sense_is_an_error_that_names_the_model(tmp_path, about, message):
    directory = save(tmp_path / "m")
    to_fp8(directory, [32, 16])
    config = json.loads((directory / "config.json").read_text())
    known = config["quantization_config"]
    config["quantization_config"] = {**known, **about} if isinstance(about, dict) else about
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message):
        load_model(str(directory))


def test_a_file_that_was_cut_off_is_named(tmp_path):
    directory = save(tmp_path / "m")
    file = directory / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ModelError, match="m: not a loadable model directory"):
        load_model(str(directory))


def test_codes_of_another_shape_are_refused_by_name(tmp_path):
    """As bitsandbytes packs two in a byte."""
    directory = save(tmp_path / "m")

    def pack(tensors):
        rows, columns = tensors[UP].shape
        tensors[UP] = torch.zeros(rows, columns // 2, dtype=torch.uint8)

    rewrite(directory, pack)
    with pytest.raises(ModelError, match=r"mlp\.up_proj\.weight.*dequantise it"):
        load_model(str(directory))
