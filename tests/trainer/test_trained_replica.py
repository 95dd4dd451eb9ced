"""What processes are told of trained weights gives them the run's bits, and no more is told than
need be."""

from __future__ import annotations

import gc
import os
import pickle
import socket
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sharded import samples

from proofgym.algorithms.losses import PolicyLoss
from proofgym.engines.parcels import Mail, Parcel, send
from proofgym.engines.remote import Remote
from proofgym.errors import EngineError
from proofgym.trainer import replica
from proofgym.trainer.checksum import _CHUNK, checksum
from proofgym.trainer.difference import difference, put
from proofgym.trainer.options import LoRA, TrainerOptions
from proofgym.trainer.trainer import Trainer


def bits(tensor):
    return tensor.detach().reshape(-1).view(torch.uint8)


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from([torch.bfloat16, torch.float16, torch.float32]),
    size=st.integers(1, 3000),
    share=st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 9),
)
def test_a_difference_put_in_place_gives_the_same_bits(dtype, size, share, seed):
    draw = np.random.default_rng(seed)
    width = torch.empty(0, dtype=dtype).element_size()
    raw = draw.integers(0, 256, (2, size * width), np.uint8)  # any bits: NaNs, zeros with signs
    before, other = (torch.from_numpy(it).view(dtype) for it in raw)
    chosen = torch.from_numpy(draw.random(size) < share)
    now = torch.where(chosen, other, before)
    found = difference(now, before)
    changed = int((bits(now).view(size, width) != bits(before).view(size, width)).any(1).sum())
    if found is None:
        assert changed == 0
        return
    size_of = found.values.nbytes + found.where.nbytes
    assert size_of <= min(size * width, changed * width + -(-size // 8))
    ours = before.clone()
    put(ours, found.form, bytearray(found.values), bytearray(found.where))
    assert torch.equal(bits(ours), bits(now))


def test_few_changes_are_told_by_the_gaps_between_them():
    before = torch.zeros(1_000_000, dtype=torch.bfloat16)
    for places, form, size in (
        (range(0, 1_000_000, 100), "|u1", 3 * 10_000),
        (range(0, 1_000_000, 1000), "<u2", 4 * 1000),
        ([3, 900_000], "<u4", 2 * 6),
        (range(0, 1_000_000, 4), "flags", 2 * 250_000 + 125_000),
        (range(1_000_000), "whole", 2 * 1_000_000),
    ):
        now = before.clone()
        now[list(places)] = -0.0  # equal as numbers
        found = difference(now, before)
        assert (found.form, found.values.nbytes + found.where.nbytes) == (form, size)


def test_a_checksum_sees_every_bit_and_every_name():
    tensors = {"a": torch.randn(5, 3).to(torch.bfloat16), "b": torch.randn(7)}
    first = checksum(tensors)
    assert checksum({name: it.clone() for name, it in tensors.items()}) == first
    assert checksum({"a": tensors["a"], "c": tensors["b"]}) != first
    seen = {first}
    for tensor in tensors.values():
        raw = bits(tensor)
        for place in range(len(raw)):
            for bit in (1, 128):
                raw[place] ^= bit
                seen.add(checksum(tensors))
                raw[place] ^= bit
                assert checksum(tensors) == first
    assert len(seen) == 1 + 2 * (15 * 2 + 7 * 4)


def test_a_checksum_does_not_depend_on_how_it_is_cut(monkeypatch):
    tensors = {"a": torch.randn(1000).to(torch.float16), "b": torch.randn(1001)}
    whole = checksum(tensors)
    monkeypatch.setitem(_CHUNK, "cpu", 16)
    assert checksum(tensors) == whole


def test_a_parcel_is_read_by_others_and_leaves_nothing():
    before = set(os.listdir("/proc/self/fd"))
    ours, theirs = socket.socketpair()
    parcel = Parcel.of([b"one", np.zeros(0), np.arange(300_000), b""])
    send(ours, ["first", parcel, {"again": parcel}])
    send(ours, Parcel.of([]))
    mail, heard = Mail(theirs), []
    while len(heard) < 2:
        heard += mail.receive()
    del parcel
    (word, one, again), empty = heard[0], heard[1]
    read = one.read()
    assert (word, one.size, bytes(read[:3])) == ("first", 3 + 8 * 300_000, b"one")
    read[:3] = b"two"
    assert bytes(again["again"].read()[:3]) == b"one"
    assert bytes(empty.read()) == b""
    ours.close()
    assert mail.receive() is None
    theirs.close()
    del read, one, again, empty, heard
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(TypeError):
        pickle.dumps(Parcel.of([b"only with `send`"]))


KINDS = {
    "float32": (torch.float32, None, 1e-3),
    "bfloat16": (torch.bfloat16, None, 2e-6),
    "lora": (torch.float32, LoRA(rank=2), 1e-3),
    "lora bfloat16": (torch.bfloat16, LoRA(rank=2), 1e-3),
    "a lora as large as the model": (torch.float32, LoRA(rank=60), 1e-3),
}


class Run:
    """A trainer, its source, and replicas as other processes would have them."""

    def __init__(self, kind):
        dtype, lora, rate = KINDS[kind]
        self._make = lambda: tiny_models.build_model().to(dtype)
        self.model = self._make()
        self.trainer = Trainer(self.model, TrainerOptions(lora=lora, learning_rate=rate))
        self.source = self.trainer.source()
        self.versions = {}

    def update(self):
        self.trainer.step(samples(), PolicyLoss())
        self.trainer.publish()

    def open(self):
        model = self._make()
        made = self.source.opening().open(model)
        self.versions[made] = self.source.version, model
        return made

    def follow(self, made):
        version, model = self.versions[made]
        if version != self.source.version:
            made.follow(self.source.news(version))
        self.versions[made] = self.source.version, model
        return self.same(made)

    def same(self, made):
        """Whether its whole model holds the run's bits; the checksums must say so, too."""
        mine, theirs = self.model.state_dict(), self.versions[made][1].state_dict()
        equal = all(torch.equal(bits(mine[name]), bits(theirs[name])) for name in mine)
        assert equal == (made.mark() == self.source.mark())
        return equal


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_hold_the_runs_bits_however_far_they_were_behind(kind):
    run = Run(kind)
    often, seldom = run.open(), run.open()
    marks = {run.source.mark()}
    for update in range(12):
        run.update()
        marks.add(run.source.mark())
        assert run.follow(often)
        if update in (2, 11):  # of which the second time it is too far behind to be told all steps
            assert run.follow(seldom)
        late = run.open()
        assert run.same(late)
    assert len(marks) == 13


@pytest.mark.parametrize(
    ("kind", "share"), [("float32", 1), ("bfloat16", 0.5), ("lora", 0.1), ("lora bfloat16", 0.2)]
)
def test_less_is_moved_than_everything_where_less_has_changed(kind, share):
    run = Run(kind)
    followers = [run.open() for _ in range(2)]
    assert run.source.report() == {"weights_moved_mb": 0, "weights_whole_mb": 0}
    for _ in range(3):
        run.update()
        assert all(map(run.follow, followers))
        report = run.source.report()
        assert report["weights_whole_mb"] == pytest.approx(2 * run.source.everything / 1e6)
        ratio = report["weights_moved_mb"] / report["weights_whole_mb"]
        assert 0 < ratio <= share
        assert share < 1 or ratio == pytest.approx(1, abs=0.01)


def test_a_source_made_after_a_resume_tells_the_base_and_all_that_changed():
    for kind in ("bfloat16", "lora"):
        before = Run(kind)
        before.update()
        again = Run(kind)
        again.trainer.load(before.trainer.state(), before.trainer.steps)
        again.source = again.trainer.source()
        made = again.open()
        assert again.same(made)
        again.update()
        assert again.follow(made)


def test_where_factors_merge_to_other_bits_the_matrices_are_told(monkeypatch, caplog):
    run = Run("lora bfloat16")
    made, other = run.open(), run.open()
    exact = replica.merged
    run.update()
    monkeypatch.setattr(replica, "merged", lambda *parts: exact(*parts) + 2**-9)
    assert not run.follow(made)
    assert run.source.astray()
    assert run.source.astray()  # said of another process
    assert caplog.text.count("merges LoRA factors to other bits") == 1
    for each in (made, other):
        each.follow(run.source.news(None))
        run.versions[each] = run.source.version, run.versions[each][1]
        assert run.same(each)
    run.source.report()
    run.update()
    assert run.follow(made)
    assert run.follow(other)
    report = run.source.report()
    assert report["weights_moved_mb"] < report["weights_whole_mb"]
    assert run.same(run.open())


@pytest.mark.parametrize("astray", [False, True])
def test_a_process_that_holds_other_bits_is_refused_once_it_was_told_them_as_they_are(astray):
    source = SimpleNamespace(
        version=3,
        mark=lambda: "right",
        opening=lambda: None,
        news=lambda since: since,
        astray=lambda: astray,
    )
    remote = Remote(0, SimpleNamespace(device="cuda:0"), 1.0)
    remote.line = SimpleNamespace(sendall=lambda data: None)
    remote.equip(source)
    assert remote.check("right", source)
    if astray:
        assert not remote.check("wrong", source)
        remote.give(SimpleNamespace(weights=None), source, [], None, 0)
    with pytest.raises(EngineError, match=r"engine 0 \(cuda:0, .* holds other weights than"):
        remote.check("wrong", source)
