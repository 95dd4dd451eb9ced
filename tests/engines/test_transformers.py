"""The embedded engine against the model's own forward pass, and against itself reordered."""

from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, loaded

from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import EngineError
from proofgym.types import Request, Sampling

PROMPTS = ("theorem and_swap", "p ∧ q → q ∧ p := by", "h", "exact fun h => ⟨h.2, h.1⟩ and so on")


def requests(count: int, prompts: tuple[str, ...] = PROMPTS) -> list[Request]:
    return [Request((7, index), prompts[index % len(prompts)]) for index in range(count)]


def run(engine, wanted, **sampling):
    return {r.key: c for r, c in engine.generate(wanted, Sampling(max_tokens=12, **sampling))}


def plain_logprobs(model, prompt_ids, token_ids, temperature=1.0):
    ids = torch.tensor([[*prompt_ids, *token_ids]])
    logits = model(ids).logits[0, len(prompt_ids) - 1 : -1].float() / temperature
    return logits.log_softmax(-1)


@pytest.mark.parametrize("family", FAMILIES)
def test_logprobs_are_those_of_the_plain_forward(family):
    tiny = loaded(family)
    engine = TransformersEngine(tiny, max_batch=5)
    done = run(engine, requests(13), temperature=0.7)
    assert len(done) == 13
    for completion in done.values():
        table = plain_logprobs(tiny.model, completion.prompt_ids, completion.token_ids)
        chosen = table[range(len(completion.token_ids)), list(completion.token_ids)]
        torch.testing.assert_close(torch.tensor(completion.logprobs), chosen, atol=2e-5, rtol=0)
        scored = engine.score(completion.prompt_ids, completion.token_ids)
        assert scored == pytest.approx(completion.logprobs, abs=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_takes_the_most_likely_token(family):
    tiny = loaded(family)
    for completion in run(TransformersEngine(tiny), requests(4), temperature=0).values():
        table = plain_logprobs(tiny.model, completion.prompt_ids, completion.token_ids)
        assert table.argmax(-1).tolist() == list(completion.token_ids)


def test_results_do_not_depend_on_order_or_batch():
    tiny = loaded()
    wanted = requests(24)
    reference = run(TransformersEngine(tiny, seed=3, max_batch=24), wanted)
    for order, batch in ((wanted[::-1], 24), (wanted, 5), (wanted[::2] + wanted[1::2], 1)):
        again = run(TransformersEngine(tiny, seed=3, max_batch=batch), order)
        assert {k: c.token_ids for k, c in again.items()} == {
            k: c.token_ids for k, c in reference.items()
        }
    other = run(TransformersEngine(tiny, seed=4, max_batch=24), wanted)
    assert [other[k].token_ids for k in other] != [reference[k].token_ids for k in other]


def test_equal_keys_draw_equally_and_others_differ():
    engine = TransformersEngine(loaded())
    same = [Request((1,), "h"), Request((1,), "h", member=4), Request((2,), "h")]
    texts = [c.token_ids for _, c in engine.generate(same, Sampling(max_tokens=20))]
    assert len(set(texts)) == 2


def test_completions_come_as_they_finish():
    tiny = loaded()
    engine = TransformersEngine(tiny, max_batch=8)
    lengths = [
        len(c.token_ids)
        for _, c in engine.generate(requests(8, ("h",)), Sampling(max_tokens=30, stop=("a", "e")))
    ]
    assert len(set(lengths)) > 1
    assert lengths == sorted(lengths)


def test_rows_that_finish_leave_the_batch(monkeypatch, pipelined):
    engine = TransformersEngine(loaded(), max_batch=32)
    sizes = []
    step = engine._decoder.step

    def watched(ids, *rest):
        sizes.append(len(ids))
        return step(ids, *rest)

    monkeypatch.setattr(engine._decoder, "step", watched)
    done = run(engine, requests(32), stop=tuple("aeinot "))
    if pipelined:  # when half of them are over
        assert set(sizes) >= {32, 16}
    else:
        assert sum(sizes) == sum(len(c.token_ids) - 1 for c in done.values())
    assert min(sizes) <= 16


def test_a_stop_string_may_span_tokens():
    tiny = loaded()
    engine = TransformersEngine(tiny)
    free = run(engine, requests(6))
    for key, completion in free.items():
        text = completion.text
        if len(text) < 6 or "\ufffd" in text:
            continue
        stop = text[2:5]  # wherever the token borders are
        cut = run(engine, [r for r in requests(6) if r.key == key], stop=(stop, "never seen"))[key]
        assert cut.finish == "stop"
        assert cut.text == text[: text.index(stop)]
        assert cut.token_ids == completion.token_ids[: len(cut.token_ids)]
        full = tiny.tokenizer.decode(cut.token_ids)
        assert stop in full
        assert stop not in tiny.tokenizer.decode(cut.token_ids[:-1])


def test_the_end_token_ends_and_is_kept():
    tiny = loaded()
    engine = TransformersEngine(tiny)
    first = run(engine, requests(1))[(7, 0)].token_ids
    engine._ends = frozenset({first[4]})
    completion = run(engine, requests(1))[(7, 0)]
    kept = first.index(first[4]) + 1
    assert completion.token_ids == first[:kept]
    assert completion.finish == "stop"
    assert completion.text == tiny.tokenizer.decode(first[: kept - 1])
    assert len(completion.logprobs) == kept


def test_length_ends_too():
    completion = run(TransformersEngine(loaded()), requests(1))[(7, 0)]
    assert completion.finish == "length"
    assert len(completion.token_ids) == 12


def test_prompts_are_tokenised_plainly():
    tiny = loaded()
    completion = run(TransformersEngine(tiny), requests(1))[(7, 0)]
    assert completion.prompt_ids == tuple(tiny.tokenizer(PROMPTS[0])["input_ids"])


def test_equal_prompts_share_one_pass(monkeypatch):
    engine = TransformersEngine(loaded())
    seen = []
    prompt = engine._decoder.prompt

    def watched(hidden, first, last):
        seen.append(hidden.shape[0])
        return prompt(hidden, first, last)

    monkeypatch.setattr(engine._decoder, "prompt", watched)
    run(engine, requests(30, ("h", "p q")))
    assert max(seen) == 2


def test_a_small_prompt_budget_changes_nothing(monkeypatch):
    import proofgym.engines.batch as module

    engine = TransformersEngine(loaded())
    reference = run(engine, requests(12))
    monkeypatch.setitem(module._PROMPT_TOKENS, "cpu", 30)
    assert {k: c.token_ids for k, c in run(engine, requests(12)).items()} == {
        k: c.token_ids for k, c in reference.items()
    }


def test_closing_early_stops():
    engine = TransformersEngine(loaded())
    stream = engine.generate(requests(8), Sampling(max_tokens=12))
    next(stream)
    stream.close()
    assert run(engine, requests(2))
    assert torch.is_grad_enabled()


def test_bad_requests_say_what_is_wrong():
    engine = TransformersEngine(loaded())
    with pytest.raises(EngineError, match="prompt is empty"):
        run(engine, [Request((0,), "")])
    with pytest.raises(EngineError, match="the model has 128"):
        list(engine.generate(requests(1), Sampling(max_tokens=500)))
    assert list(engine.generate([], Sampling())) == []


def test_diverged_weights_are_an_error_not_a_completion():
    tiny = loaded()
    tiny.model.model.norm.weight.data.fill_(float("nan"))
    with pytest.raises(EngineError, match="not finite"):
        run(TransformersEngine(tiny), requests(2))


def test_what_torch_raises_becomes_an_engine_error():
    tiny = loaded()
    engine = TransformersEngine(tiny)
    tiny.model.model.layers[1].mlp.up_proj.weight.data = torch.zeros(3, 3)
    with pytest.raises(EngineError, match="generation failed"):
        run(engine, requests(2))


def test_models_of_another_build_are_refused():
    from transformers import GPT2Config, GPT2LMHeadModel

    tiny = loaded()
    tiny.model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=300))
    with pytest.raises(EngineError, match="of the Llama, Qwen2 and Qwen3 families"):
        TransformersEngine(tiny)


SMALL = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def of_class(name, **options):
    import transformers

    config = getattr(transformers, f"{name}Config")(**SMALL, **options)
    made = loaded()
    made.model = getattr(transformers, f"{name}ForCausalLM")(config).eval().requires_grad_(False)
    return made


def test_a_window_is_refused_however_the_model_says_it():
    with pytest.raises(EngineError, match="sliding-window layers are not supported"):
        TransformersEngine(of_class("Mistral", sliding_window=4))
    TransformersEngine(of_class("Mistral", sliding_window=None))
    TransformersEngine(of_class("Qwen2", sliding_window=4, use_sliding_window=False))


def test_attention_of_another_kind_is_refused():
    engine = TransformersEngine(of_class("StableLm"))
    with pytest.raises(EngineError, match="attends in a way that proofgym does not know"):
        run(engine, requests(2))
