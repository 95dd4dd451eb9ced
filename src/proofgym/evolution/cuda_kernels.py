"""Writing members, and sums of sign noise by the matrix units, on NVIDIA GPUs.

The first is bound by memory. For the second: a word holds the signs of 32 members for one element,
and `(word >> g) & 0x01010101` is four of them as bytes: just what a register of the right-hand
matrix of `mma.m16n8k32` holds. Coefficients go to the left-hand matrix in digits to the base 256,
each digit in rows of its own, zero but where row and lane belong together; so each lane gets the
sums of its own element, exactly, eight members an instruction. What is left to the other units is
Philox, and shifting and masking words.

CUDA text that PyTorch has NVRTC compile, which comes with it: no compiler is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

THREADS, GROUPS = 256, 4
#: Elements of a tile.
TILE = THREADS * GROUPS * 4

_COMMON = r"""
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned long long u64;

__device__ __forceinline__ void philox(u64 group, u32 c2, u32 c3, u32 k0, u32 k1, u32 *words) {
    u32 c0 = (u32)group, c1 = (u32)(group >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 left = (u64)c0 * 0xD2511F53u, right = (u64)c2 * 0xCD9E8D57u;
        c0 = (u32)(right >> 32) ^ c1 ^ k0;
        c2 = (u32)(left >> 32) ^ c3 ^ k1;
        c1 = (u32)right;
        c3 = (u32)left;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0; words[1] = c1; words[2] = c2; words[3] = c3;
}

"""

_SUM_SIGNS = r"""
__device__ __forceinline__ void product(int *d, const u32 *a, u32 b0, u32 b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The sum of the digit whose rows begin at `row`, for this lane's element.
__device__ __forceinline__ int own(const int *d, int row) {
    int lane = threadIdx.x & 31, column = lane >> 2;
    int from = ((row & 7) + (lane & 3)) * 4 + (column >> 1);
    int even = __shfl_sync(0xFFFFFFFFu, d[(row >> 3) * 2], from);
    int odd = __shfl_sync(0xFFFFFFFFu, d[(row >> 3) * 2 + 1], from);
    return column & 1 ? odd : even;
}

extern "C" __global__ void __launch_bounds__(256) sum_signs(
    const int *tile_tensor, const long long *tile_first, const long long *deltas,
    const long long *sizes, const u32 *key_lows, const u32 *key_highs,
    const u32 *digits, const u32 *iterations, const u32 *blocks, int runs, int total) {
    int tensor = tile_tensor[blockIdx.x], lane = threadIdx.x & 31;
    long long first = tile_first[blockIdx.x], size = sizes[tensor];
    u32 low = key_lows[tensor], high = key_highs[tensor];
    u64 group = (u64)first / 4 + threadIdx.x;
    bool mine = ((lane >> 2) & 3) == (lane & 3);
    int sums[GROUPS][4][4] = {};
    for (int run = 0; run < runs; run++) {
        u32 left[8][2];
        const u32 *digit = digits + (run * DIGITS + (lane >> 4)) * 8;
#pragma unroll
        for (int g = 0; g < 8; g++) {
            left[g][0] = mine ? digit[g] : 0;
            left[g][1] = DIGITS > 2 && mine && lane < 16 ? digit[16 + g] : 0;
        }
        u32 iteration = iterations[run], block = blocks[run];
#pragma unroll
        for (int i = 0; i < GROUPS; i++) {
            u32 words[4];
            philox(group + i * THREADS, iteration, block, low, high, words);
#pragma unroll
            for (int w = 0; w < 4; w++)
#pragma unroll
                for (int g = 0; g < 8; g += 2) {
                    u32 a[4] = {left[g][0], left[g][1], left[g + 1][0], left[g + 1][1]};
                    product(sums[i][w], a, (words[w] >> g) & 0x01010101u,
                            (words[w] >> (g + 1)) & 0x01010101u);
                }
        }
    }
    DELTA *delta = (DELTA *)deltas[tensor];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            int set = own(sums[i][w], 0) + 256 * own(sums[i][w], 4);
            if (DIGITS > 2) set += 65536 * own(sums[i][w], 8);
            long long at = first + ((long long)i * THREADS + threadIdx.x) * 4 + w;
            if (at < size) delta[at] += (DELTA)(total - 2 * set);
        }
}
"""

_WRITE = r"""
#if DTYPE == 0
typedef float Stored;
__device__ __forceinline__ float decode(float value) { return value; }
__device__ __forceinline__ float encode(float value) { return value; }
#elif DTYPE == 1
typedef u16 Stored;
__device__ __forceinline__ float decode(u16 value) { return __uint_as_float((u32)value << 16); }
__device__ __forceinline__ u16 encode(float value) {
    u32 bits = __float_as_uint(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0;
    return (bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16;
}
#else
typedef u16 Stored;
__device__ __forceinline__ float decode(u16 value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
}
__device__ __forceinline__ u16 encode(float value) {
    u16 narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(value));
    return narrow;
}
#endif
struct alignas(4 * sizeof(Stored)) Four { Stored at[4]; };
struct alignas(16) Deltas { DELTA at[4]; };

extern "C" __global__ void __launch_bounds__(256) write_member(
    const int *tile_tensor, const long long *tile_first, const long long *bases,
    const long long *deltas, const long long *outs, const long long *sizes,
    const long long *columns, const u32 *key_lows, const u32 *key_highs, const long long *scales,
    const long long *lefts, const long long *rights, const signed char *factors, const int *table,
    double step, int iteration, int block, int place) {
    int tensor = tile_tensor[blockIdx.x];
    long long first = tile_first[blockIdx.x], size = sizes[tensor], width = columns[tensor];
    const Stored *base = (const Stored *)bases[tensor];
    const DELTA *delta = (const DELTA *)deltas[tensor];
    Stored *out = (Stored *)outs[tensor];
    DELTA k = (DELTA)scales[tensor];
    u32 low = key_lows[tensor], high = key_highs[tensor];
    const signed char *left = factors + lefts[tensor], *right = factors + rights[tensor];
    Four weights[GROUPS];
    Deltas sums[GROUPS];
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {  // all reads first: they wait together
        long long at = first + ((long long)i * THREADS + threadIdx.x) * 4;
        if (at + 4 <= size) {
            weights[i] = *(const Four *)(base + at);
            sums[i] = *(const Deltas *)(delta + at);
        } else {
#pragma unroll
            for (int w = 0; w < 4; w++) {
                weights[i].at[w] = at + w < size ? base[at + w] : Stored(0);
                sums[i].at[w] = at + w < size ? delta[at + w] : 0;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        long long at = first + ((long long)i * THREADS + threadIdx.x) * 4;
        if (at >= size) break;
        u32 words[4];
        if (RULE == 1 || RULE == 2) philox(at / 4, iteration, block, low, high, words);
        long long row = RULE == 3 ? at / width : 0, column = at - row * width;
#pragma unroll
        for (int w = 0; w < 4; w++) {
            DELTA value = sums[i].at[w];
            if (RULE == 1) value += (words[w] >> place) & 1 ? -k : k;
            if (RULE == 2) value += k * table[(words[w] >> (8 * place)) & 255];
            if (RULE == 3 && at + w < size) {
                int total = left[row] * right[column];
                if (RANK > 1) {
                    long long height = size / width;
                    for (int rho = 1; rho < RANK; rho++)
                        total += left[rho * height + row] * right[rho * width + column];
                }
                value += k * total;
                if (++column == width) row++, column = 0;
            }
            weights[i].at[w] = encode(decode(weights[i].at[w]) + (float)step * (float)value);
        }
        if (at + 4 <= size) {
            *(Four *)(out + at) = weights[i];
        } else {
#pragma unroll
            for (int w = 0; w < 4; w++)
                if (at + w < size) out[at + w] = weights[i].at[w];
        }
    }
}
"""


def available() -> bool:
    """Whether this GPU and this PyTorch can run them (compute capability 8.0, PyTorch 2.9)."""
    return (
        torch.cuda.is_available()
        and torch.version.hip is None
        and torch.cuda.get_device_capability() >= (8, 0)
        and hasattr(torch.cuda, "_compile_kernel")
    )


def sum_signs(wide: bool, digits: int) -> Any:
    """The kernel for int32 or int64 accumulators and coefficients of 2 or 3 digits."""
    return _compile(_SUM_SIGNS, "sum_signs", wide, DIGITS=digits)


def write_member(wide: bool, dtype: int, rule: int, rank: int) -> Any:
    """The kernel that writes weights; numbers as in `triton_kernels.write`."""
    return _compile(_WRITE, "write_member", wide, DTYPE=dtype, RULE=rule, RANK=rank)


@functools.cache
def _compile(source: str, name: str, wide: bool, **constants: int) -> Any:
    names = {"DELTA": "long long" if wide else "int", "THREADS": THREADS, "GROUPS": GROUPS}
    defines = "".join(f"#define {key} {value}\n" for key, value in {**names, **constants}.items())
    return torch.cuda._compile_kernel(defines + _COMMON + source, name)


def digit_table(runs: Sequence[Sequence[int]]) -> tuple[NDArray[np.uint32], int] | None:
    """Coefficients of the 32 members of each run as [runs, digits, 8] words of four bytes.

    Word g holds the digit of members g, g+8, g+16 and g+24. Returns the number of digits too, and
    None where three do not suffice (|c| above 8.3 million).
    """
    left = np.array(runs, np.int64)  # [runs, 32]
    planes: list[NDArray[np.int8]] = []
    while len(planes) < 2 or left.any():
        if len(planes) == 3:
            return None
        digit = (left + 128) % 256 - 128
        planes.append(digit.astype(np.int8))
        left = (left - digit) // 256
    bytes_ = np.stack(planes, axis=1).reshape(len(runs), len(planes), 4, 8)
    packed = np.ascontiguousarray(bytes_.transpose(0, 1, 3, 2)).view(np.uint32)
    return packed.reshape(len(runs), len(planes), 8), len(planes)
