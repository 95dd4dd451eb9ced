"""What is put between a model's turns."""

from __future__ import annotations

import pytest
from conversing import CHATML
from tiny_models import build_tokenizer

from proofgym.environments.template import ChatTemplate, Plain
from proofgym.errors import EnvironmentError as TemplateError

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}


@pytest.fixture(scope="module")
def tokenizer():
    made = build_tokenizer()
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.chat_template = CHATML
    return made


def user(text):
    return {"role": "user", "content": text}


def test_a_conversation_is_what_the_template_would_make_of_it(tokenizer):
    template = ChatTemplate(tokenizer)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    messages = [{"role": "system", "content": "be good"}, user("theorem a")]
    for answer_ends in (True, False):
        answer = tokenizer.encode("p ∧ q") + ([end] if answer_ends else [])
        ids = template.first(messages, ()) + answer
        ids += template.next([user("and now?")], (), ids[-1])
        whole = [*messages, {"role": "assistant", "content": "p ∧ q"}, user("and now?")]
        expected = tokenizer.apply_chat_template(whole, tokenize=False, add_generation_prompt=True)
        assert tokenizer.decode(ids) == expected


def test_several_messages_at_once(tokenizer):
    ids = ChatTemplate(tokenizer).next([user("a"), {"role": "tool", "content": "b"}], (), 5)
    assert tokenizer.decode(ids) == (
        "<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>tool\nb<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_the_model_is_told_of_tools_by_the_template_or_in_words(tokenizer):
    template = ChatTemplate(tokenizer)
    assert tokenizer.decode(template.first([user("x")], [TOOL])).startswith("<|im_start|>system\nT")
    assert '"name": "f"' in tokenizer.decode(template.next([user("x")], [TOOL], 5))
    blind = build_tokenizer()
    blind.chat_template = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    text = blind.decode(ChatTemplate(blind).first([user("x")], [TOOL]))
    assert "<tools>" in text
    assert text.endswith("\n\nx]")


def test_plain_text_is_appended(tokenizer):
    plain = Plain(tokenizer)
    assert plain.first([user("theorem a")], ()) == tokenizer.encode("theorem a")
    system = {"role": "system", "content": "s"}
    assert tokenizer.decode(plain.first([system, user("x")], ())) == "s\n\nx"
    assert tokenizer.decode(plain.next([user("a"), user("b")], (), 5)) == "ab"


def test_templates_that_cannot_serve_say_so(tokenizer):
    odd = build_tokenizer()
    odd.chat_template = "{{ raise_exception('no system here') }}"
    with pytest.raises(TemplateError, match=r"no system here.*template=\"plain\""):
        ChatTemplate(odd).first([user("x")], ())
    odd.chat_template = "{% for m in messages %}{{ m.content | upper }}{% endfor %}"
    with pytest.raises(TemplateError, match="does not repeat an answer"):
        ChatTemplate(odd).next([user("x")], (), 5)
