"""Keyframes and replay: a shortcut gives what the whole way gives."""

import numpy as np
import plain_arithmetic as plain
import pytest
import torch
from torch import nn

from proofgym.errors import HistoryError
from proofgym.evolution import history, keyframe, manifest, replay, specification
from proofgym.evolution.history import Decay, History, Update
from proofgym.evolution.specification import Specification
from proofgym.evolution.state import State, named

COUNT = 7


def model(seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3, bias=False)).to(dtype)


def run(directory, kind="rademacher", rank=1, dtype=torch.float32, every=2):
    """A run of COUNT iterations; returns the digests after each."""
    chosen = specification.choose(
        seed=5, kind=kind, rank=rank, antithetic=True, population=4, sigma=0.01, learning_rate=0.01
    )
    made = model(dtype=dtype)
    listed = manifest.build(made, ["*"], chosen)
    state = State(listed, chosen, named(made, listed))
    header = {
        "specification": chosen.to_json(),
        "manifest": listed.to_json(),
        "base_weights": replay.base_weights(state),
        "base_digest": "b" * 64,
        "adapter_digest": None,
    }
    digests = [state.digest()]
    random = np.random.default_rng(0)
    with History.create(directory / replay.HISTORY, header) as log:
        for t in range(COUNT):
            entries = [Update(t, tuple(random.integers(-9000, 9000, 4).tolist()), 4)]
            entries = ([Decay(t, 700)] if t % 3 else []) + entries
            log.append(*entries)
            state.apply(*entries)
            digests.append(state.digest())
            if state.iteration % every == 0:
                keyframe.save(directory / replay.KEYFRAMES, state, log.digests[-1])
    return digests


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("kind", "rank"), [("rademacher", 1), ("gaussian8", None), ("gaussian8", 2)]
)
def test_any_iteration_with_and_without_keyframes(tmp_path, kind, rank, dtype):
    digests = run(tmp_path, kind, rank, dtype)
    assert len(set(digests)) == COUNT + 1
    record = history.read(tmp_path / replay.HISTORY)
    for at in range(COUNT + 1):
        for keyframes in (None, tmp_path / replay.KEYFRAMES):
            state = replay.restore(record, model(dtype=dtype), keyframes, at)
            assert (state.iteration, state.digest()) == (at, digests[at])


def test_export_puts_the_weights_into_a_model(tmp_path):
    digests = run(tmp_path)
    made = model()
    assert replay.export(tmp_path, made, at=3) == digests[3]
    record = history.read(tmp_path / replay.HISTORY)
    expected = replay.restore(record, model(), None, 3)
    into = model(seed=1)
    expected.write_current(named(into, expected.manifest))
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), into.parameters(), strict=True))


def test_other_weights_are_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(HistoryError, match="not the ones that the history starts from"):
        replay.export(tmp_path, model(seed=1))
    with pytest.raises(HistoryError, match="bfloat16"):
        replay.export(tmp_path, model(dtype=torch.bfloat16))
    with pytest.raises(HistoryError, match="unknown to the history"):
        replay.export(tmp_path, nn.Sequential(*model(), nn.Linear(3, 3)))
    with pytest.raises(HistoryError, match="lacks"):
        replay.export(tmp_path, nn.Sequential(*list(model())[:2]))
    with pytest.raises(HistoryError, match="not in a history of 7"):
        replay.export(tmp_path, model(), at=8)


def test_a_history_says_the_version_that_its_noise_needs():
    """A reader that knows only version 1 must not take low-rank normals for signs."""
    versions = {}
    for kind in ("rademacher", "gaussian8", "gaussian"):
        for rank in (None, 1, 3):
            if rank and kind == "gaussian":
                continue
            written = plain.specification(kind=kind, rank=rank).to_json()
            assert list(written)[-1] == "version"
            assert Specification.from_json(written).to_json() == written
            versions[kind, rank] = written["version"]
    assert {it for it, version in versions.items() if version == 2} == {
        ("gaussian8", 1),
        ("gaussian8", 3),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, "specification 3 is not known .* implements 1 and 2"),
        ({"version": None}, "specification None"),
        ({"kind": "gaussian8", "rank": 1}, "specification 1 has no gaussian8 noise of rank 1"),
        ({"version": 2}, "specification 2 has no rademacher noise"),
        ({"kind": "gaussian", "rank": 2, "version": 2}, "no gaussian noise of rank 2"),
    ],
)
def test_noise_that_a_version_does_not_have_is_refused(changes, message):
    with pytest.raises(HistoryError, match=message):
        Specification.from_json({**plain.specification().to_json(), **changes})


def test_float_noise_is_outside_the_promise(tmp_path):
    digests = run(tmp_path, kind="gaussian", rank=None)
    with pytest.raises(HistoryError, match="approximate=True"):
        replay.export(tmp_path, model())
    assert replay.export(tmp_path, model(), approximate=True) == digests[-1]


def test_a_damaged_keyframe_is_passed_over(tmp_path):
    digests = run(tmp_path)
    frames = sorted((tmp_path / replay.KEYFRAMES).iterdir())
    assert [frame.stem for frame in frames] == ["00000002", "00000004", "00000006"]
    record = history.read(tmp_path / replay.HISTORY)
    data = frames[-1].read_bytes()
    for damaged in (data[:-1], data[:20], b"", data[:100] + b"x" + data[101:]):
        frames[-1].write_bytes(damaged)
        state = replay.start(record.header, model())
        assert keyframe.load_newest(tmp_path / replay.KEYFRAMES, state, record, COUNT) == 4
        assert replay.restore(record, model(), tmp_path / replay.KEYFRAMES).digest() == digests[-1]


def test_a_keyframe_of_another_history_is_passed_over(tmp_path):
    (tmp_path / "a").mkdir()
    run(tmp_path / "a")
    record = history.read(tmp_path / "a" / replay.HISTORY)
    state = replay.restore(record, model(), None, 5)
    keyframe.save(tmp_path / "frames", state, b"\1" * 32)
    assert keyframe.load_newest(tmp_path / "frames", state, record, COUNT) == 0


def test_a_keyframe_keeps_both_widths(tmp_path):
    run(tmp_path)
    record = history.read(tmp_path / replay.HISTORY)
    state = replay.restore(record, model())
    wide = state.delta["0.weight"]
    wide.values = wide.values.astype(np.int64) * 2**30
    path = keyframe.save(tmp_path / "frames", state, b"\0" * 32)
    found = replay.start(record.header, model())
    keyframe.load(path, found, b"\0" * 32)
    for name, accumulator in state.delta.items():
        assert found.delta[name].values.dtype == accumulator.values.dtype
        assert np.array_equal(found.delta[name].values, accumulator.values)
        assert found.delta[name].bound == accumulator.largest()


def test_pruning_keeps_the_two_newest_and_removes_leftovers(tmp_path):
    run(tmp_path, every=1)
    frames = tmp_path / replay.KEYFRAMES
    (frames / ".00000009.pgkf.123.tmp").write_bytes(b"half")
    keyframe.prune(frames)
    assert sorted(path.name for path in frames.iterdir()) == ["00000006.pgkf", "00000007.pgkf"]
    keyframe.prune(tmp_path / "absent")
