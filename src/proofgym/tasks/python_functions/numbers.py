"""Functions about whole numbers."""

from __future__ import annotations

from proofgym.tasks.python_functions.function import Topic

NUMBERS = Topic("numbers")
task = NUMBERS.task


@task(1, (3, 8), (8, 3), (-2, -9), (5, 5), (0, -1), (-3, 4))
def smaller(a: int, b: int) -> int:
    """Return the smaller of two whole numbers."""
    return min(a, b)


@task(1, (7,), (0,), (-4,), (12,), (-9,), (101,))
def is_odd(n: int) -> bool:
    """Return True if n is odd and False if it is even."""
    return n % 2 == 1


@task(2, (5,), (1,), (0,), (10,), (7,), (100,), heldout=True)
def sum_to(n: int) -> int:
    """Return 1 + 2 + ... + n, which is 0 for n = 0."""
    return n * (n + 1) // 2


@task(2, (1234,), (0,), (9,), (1000,), (999,), (80507,))
def digit_sum(n: int) -> int:
    """Return the sum of the decimal digits of n, which is not negative."""
    return sum(map(int, str(n)))


@task(3, (5, 1, 10), (0, 1, 10), (11, 1, 10), (1, 1, 10), (-7, -5, 5), (10, 1, 10), (3, 3, 3))
def clamp(value: int, low: int, high: int) -> int:
    """Return value if it lies between low and high, else the nearer of the two."""
    return max(low, min(value, high))


@task(3, (12, 18), (7, 5), (0, 9), (9, 0), (100, 75), (17, 17), (1, 40), heldout=True)
def greatest_divisor(a: int, b: int) -> int:
    """Return the greatest common divisor of two numbers that are not negative; that of 0 and n
    is n."""
    while b:
        a, b = b, a % b
    return a


@task(4, (1,), (2,), (9,), (17,), (0,), (25,), (97,), (49,), (-7,))
def is_prime(n: int) -> bool:
    """Return whether n is a prime number; numbers below 2 are not."""
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


@task(4, (0,), (1,), (2,), (10,), (30,), (7,))
def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number, where number 0 is 0 and number 1 is 1."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@task(5, (10,), (0,), (1,), (255,), (256,), (37,), heldout=True)
def to_binary(n: int) -> str:
    """Return the binary digits of n, which is not negative, without leading zeros ("0" for 0)."""
    digits = ""
    while n > 1:
        digits, n = str(n % 2) + digits, n // 2
    return str(n) + digits


@task(5, (12,), (1,), (97,), (360,), (64,), (2,), (77,))
def prime_factors(n: int) -> list[int]:
    """Return the prime factors of n, which is at least 1, from small to large; a factor that
    occurs several times is listed as often."""
    factors, d = [], 2
    while n > 1:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    return factors


@task(6, (6,), (1,), (27,), (7,), (16,), (97,))
def collatz_steps(n: int) -> int:
    """Count steps until n becomes 1, where a step halves an even n and turns an odd n into
    3n + 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@task(7, (1994,), (4,), (9,), (3999,), (58,), (40,), (900,), (1,), heldout=True)
def to_roman(n: int) -> str:
    """Write n (1 to 3999) as a Roman numeral, such as "XIV" for 14."""
    values = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
    signs = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    text = ""
    for value, sign in zip(values, signs, strict=True):
        text += sign * (n // value)
        n %= value
    return text


@task(8, (5,), (0,), (100,), (12,), (63,), (4,), (1,))
def ways_to_pay(amount: int) -> int:
    """Count the ways to pay an amount with coins of 1, 2, 5, 10, 20 and 50, where the order of the
    coins does not matter; there is one way to pay 0."""
    ways = [1] + [0] * amount
    for coin in (1, 2, 5, 10, 20, 50):
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]
