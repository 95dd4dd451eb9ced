"""Products by oneDNN are those of torch, and modules are as they were afterwards."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from proofgym import products
from proofgym.products import fast_products, linear

_GROWTH = """
import os, torch
from proofgym.products import linear

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

input, weight = torch.randn(400, 64), torch.randn(64, 64)
linear(input, weight)
before = held()
for rows in range(1, 400):
    linear(input[:rows], weight)
print(held() - before)
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shape", [(3, 16), (2, 5, 16), (4, 1, 16)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_product_is_that_of_torch(dtype, shape, biased):
    input, weight, bias = (torch.randn(size).to(dtype) for size in (shape, (7, 16), (7,)))
    made = linear(input, weight, bias if biased else None)
    wanted = nn.functional.linear(input, weight, bias if biased else None)
    torch.testing.assert_close(made, wanted)
    assert made.dtype == dtype


def test_rows_that_do_not_lie_together():
    input, weight = torch.randn(16, 6).T, torch.randn(16, 7).T
    torch.testing.assert_close(linear(input, weight), input @ weight.T)


def test_a_weight_edited_in_place_counts_at_once():
    layer, input = nn.Linear(16, 7).requires_grad_(False), torch.randn(3, 16)
    with fast_products([layer]):
        before = layer(input)
        layer.weight.mul_(2)
        layer.bias.mul_(2)
        torch.testing.assert_close(layer(input), 2 * before)


def test_layers_are_lent_and_given_back():
    class Own(nn.Linear):
        pass

    def use():
        assert isinstance(plain, nn.Linear)
        assert type(plain) is not nn.Linear
        with fast_products([plain]):
            pass
        assert type(plain) is not nn.Linear, "the inner one lent nothing"
        assert (type(own), type(wide)) == (Own, nn.Linear)
        raise ValueError("in between")

    plain, own, wide = nn.Linear(3, 3), Own(3, 3), nn.Linear(3, 3).double()
    with pytest.raises(ValueError, match="in between"), fast_products([plain, own, wide]):
        use()
    assert type(plain) is nn.Linear


def test_without_the_operator_torch_does_them(monkeypatch):
    monkeypatch.setattr(products, "_operator", lambda: None)
    input, weight = torch.randn(3, 16), torch.randn(7, 16)
    assert torch.equal(linear(input, weight), nn.functional.linear(input, weight))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_numbers_of_rows_that_were_seen_once_are_not_kept():
    """400 of them hold 230 MB if the code for each is kept, 46 MB if that for the newest is."""
    environment = {name: it for name, it in os.environ.items() if "CACHE_CAPACITY" not in name}
    command = [sys.executable, "-c", _GROWTH]
    assert float(subprocess.check_output(command, env=environment, text=True)) < 100
