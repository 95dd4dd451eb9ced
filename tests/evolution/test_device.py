"""The state on a device gives the bits of the state on the CPU.

On a GPU where there is one; else through Triton's interpreter, which runs the kernels' own code.
"""

import os

import numpy as np
import plain_arithmetic as plain
import pytest
import tiny_models
import torch

GPU = torch.cuda.is_available()
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"
triton = pytest.importorskip("triton", reason="needs Triton")
tl = triton.language

from proofgym.errors import ConfigError  # noqa: E402
from proofgym.evolution import device as device_module  # noqa: E402
from proofgym.evolution import device_writer, manifest, noise, philox  # noqa: E402
from proofgym.evolution.device import DeviceState  # noqa: E402
from proofgym.evolution.factored import Factored  # noqa: E402
from proofgym.evolution.history import Decay, Update  # noqa: E402
from proofgym.evolution.state import State, named  # noqa: E402
from proofgym.evolution.triton_kernels import _words  # noqa: E402

DEVICE = "cuda" if GPU else "cpu"
NOISES = [
    ("rademacher", None),
    ("gaussian8", None),
    ("rademacher", 1),
    ("rademacher", 3),
    ("gaussian8", 1),
    ("gaussian8", 3),
]
SHAPES = {"wide": (3, 37), "tall": (37, 3), "vector": (9,), "kernel": (3, 2, 5), "scalar": ()}
ENTRIES = [
    Update(0, (5, -7, 100, 3, 0, 0, -9, 1), 8),
    Decay(1, 3000),
    Update(1, (1, 2, 3, 4, 5, 6, 7, -8), 8),
    Update(2, (-3000, 250000, 0, 0, 40, 41, 42, 43), 6),
]


@triton.jit
def draw_words(out, first, numbers, GROUPS: tl.constexpr):
    low, high = tl.load(numbers), tl.load(numbers + 1)
    words = _words(first, tl.load(numbers + 2), tl.load(numbers + 3), low, high, GROUPS)
    tl.store(out + tl.arange(0, 4 * GROUPS), words)


def both(listed, chosen, base=None):
    base = base or plain.base(listed)
    return State(listed, chosen, base), DeviceState(listed, chosen, base, DEVICE)


def assert_same(host, device, listed, members=(0, 3), iteration=3):
    for tensor in listed:
        name = tensor.name
        assert np.array_equal(host.delta[name].values, device.delta[name].values), name
    assert host.digest() == device.digest()
    assert host.checksum() == device.checksum()
    for member in members:
        ours, theirs = (plain.base(listed, seed=99) for _ in range(2))
        host.write_member(member, iteration, ours)
        device.write_member(member, iteration, theirs)
        for name, value in ours.items():
            assert torch.equal(value, theirs[name]), (member, name)


# Whole and cut tensors for every noise, but each dtype only for some, to save time.
CASES = [(*noise, dtype, False) for noise in NOISES[:3] for dtype in ("float32", "float16")]
CASES += [(*noise, "bfloat16", False) for noise in NOISES]
CASES += [(*noise, "bfloat16", True) for noise in NOISES]


@pytest.mark.parametrize(("kind", "rank", "dtype", "small"), CASES)
def test_a_device_has_the_bits_of_the_cpu(kind, rank, dtype, small, monkeypatch):
    if small:
        monkeypatch.setattr(device_writer, "_GROUPS", 8)
        monkeypatch.setattr(device_module, "_SUM_GROUPS", 16)
        monkeypatch.setattr(device_module, "_COLUMNS", 8)
    chosen = plain.specification(kind=kind, rank=rank)
    listed = plain.manifest(dtype, SHAPES)
    host, device = both(listed, chosen)
    for made in (host, device):
        made.apply(*ENTRIES)
    assert_same(host, device, listed)


@pytest.mark.parametrize(("kind", "rank"), NOISES)
@pytest.mark.parametrize(("population", "antithetic"), [(30, False), (34, True), (80, True)])
def test_more_members_than_a_word_has_bits(kind, rank, population, antithetic):
    chosen = plain.specification(kind=kind, rank=rank, population=population, antithetic=antithetic)
    listed = plain.manifest(shapes={"w": (33, 18)})
    host, device = both(listed, chosen)
    random = np.random.default_rng(1)
    entries = [
        Update(t, tuple(random.integers(-40000, 40000, population).tolist()), population)
        for t in range(3)
    ]
    for made in (host, device):
        made.apply(*entries)
    assert_same(host, device, listed, members=(0, population - 1))


@pytest.mark.parametrize(("kind", "rank"), NOISES[:3] + NOISES[4:5])
def test_sums_beyond_32_bits_are_widened(kind, rank):
    chosen = plain.specification(kind=kind, rank=rank)
    listed = plain.manifest("bfloat16", {"w": (6, 7), "v": (3,)})
    host, device = both(listed, chosen)
    large = 2**29 // chosen.largest
    for iteration in range(6):
        entry = Update(iteration, (large, 0, large, 3, large, 0, -large, 1), 8)
        for made in (host, device):
            made.apply(entry)
    assert host.delta["w"].values.dtype == device.delta["w"].values.dtype == np.int64
    assert_same(host, device, listed, iteration=6)


@pytest.mark.parametrize(("kind", "rank"), NOISES)
def test_a_coefficient_beyond_32_bits_is_summed_in_parts(kind, rank):
    chosen = plain.specification(kind=kind, rank=rank)
    listed = plain.manifest(shapes={"w": (6, 7), "v": (3,)})
    host, device = both(listed, chosen)
    beyond = 2**31 // chosen.largest
    entry = Update(0, (3 * beyond + 1, 0, 3, 0, 0, 0, -beyond - 7, 0), 8)
    for made in (host, device):
        made.apply(entry)
    assert device.delta["w"].values.dtype == np.int64
    assert_same(host, device, listed, iteration=1)


def test_shifts_and_a_manifest_of_mixed_dtypes():
    chosen = plain.specification()
    mixed = [
        tensor
        for dtype in ("float32", "bfloat16", "float16")
        for tensor in plain.manifest(dtype, {f"a.{dtype}": (4, 5), f"b.{dtype}": (6,)})
    ]
    listed = device_module.Manifest(tuple(mixed))
    host, device = both(listed, chosen)
    for made in (host, device):
        made.apply(*ENTRIES)
    assert_same(host, device, listed)


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8"])
@pytest.mark.parametrize(
    ("rank", "population", "antithetic", "shapes"),
    [
        (1, 10, True, SHAPES),
        (4, 7, False, SHAPES),
        (1, 34, False, {"long": (1301, 3)}),  # more than a word has bits, and a tile elements
    ],
)
def test_all_directions_are_drawn_as_on_the_cpu(kind, rank, population, antithetic, shapes):
    chosen = plain.specification(kind=kind, rank=rank, population=population, antithetic=antithetic)
    host, device = both(plain.manifest(shapes=shapes), chosen)
    theirs = device.draw(5)
    for name, sides in host.draw(5).items():
        for ours, other in zip(sides, theirs[name], strict=True):
            assert other.device == device.device
            assert np.array_equal(ours, other.cpu().numpy()), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("kind", "rank", "antithetic"), [("rademacher", 4, False), ("gaussian8", 1, True)]
)
def test_a_factored_population_has_the_bits_of_the_cpu(kind, rank, antithetic, dtype):
    """Of matrices, an embedding, gains and biases, and each iteration in the same memory."""
    made = tiny_models.build_model("qwen2", layers=1).to(DEVICE, dtype)
    chosen = plain.specification(
        kind=kind, rank=rank, antithetic=antithetic, population=6, scale=-16, k=301
    )
    listed = manifest.build(made, ("*",), chosen)
    host, device = both(listed, chosen, named(made, listed))
    for state in (host, device):
        for place, tensor in enumerate(listed):
            state.delta[tensor.name].values = np.arange(tensor.size, dtype=np.int32) * place % 999
    ours, theirs = Factored(made, host), Factored(made, device)
    places = set()
    for iteration in (0, 1):
        ours.prepare(iteration)
        theirs.prepare(iteration)
        for mine, other in zip(ours._patches, theirs._patches, strict=True):
            for name, factor in mine.factors().items():
                found = other.factors()[name]
                assert found.dtype == dtype
                assert torch.equal(factor, found), (mine.tensor.name, name)
                places.add(found.data_ptr())
            if hasattr(other, "left"):
                left, right = map(torch.from_numpy, host.draw(iteration)[mine.tensor.name])
                scale = (301 << mine.tensor.shift) * chosen.step * noise.UNIT[kind]
                assert torch.equal(other.left.cpu(), (left.float() * scale).to(dtype))
                right = (right.float() / noise.UNIT[kind]).to(dtype)
                assert torch.equal(other.right.cpu(), right)
    assert len(places) == sum(len(patch.factors()) for patch in theirs._patches)


def test_elements_beyond_two_to_the_32_have_their_own_words():
    """The kernels count groups in 64 bits: here by the kernel that draws words alone."""
    numbers = torch.tensor([123456789, 987654321, 7, 2], dtype=torch.uint32, device=DEVICE)
    for first in (0, 2**32 - 32, 2**34 - 32, 2**34 + 4, 2**36 - 16):
        out = torch.zeros(64, dtype=torch.uint32, device=DEVICE)
        draw_words[(1,)](out, first, numbers, GROUPS=16)
        wanted = philox.words(987654321 << 32 | 123456789, 7, 2, first, first + 64)
        assert np.array_equal(out.cpu().numpy(), wanted), first


def test_noise_outside_the_promise_is_refused():
    listed = plain.manifest()
    with pytest.raises(ConfigError, match="gaussian8"):
        DeviceState(listed, plain.specification(kind="gaussian"), plain.base(listed), DEVICE)
