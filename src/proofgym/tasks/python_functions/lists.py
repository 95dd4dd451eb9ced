"""Functions about lists."""

from __future__ import annotations

from proofgym.tasks.python_functions.function import Topic

LISTS = Topic("lists")
task = LISTS.task


@task(1, ([3, 1, 2],), ([],), ([5],), ([-1, 1],), ([2, 2, 2],), ([10, -4, 7],))
def total(numbers: list[int]) -> int:
    """Return the sum of the numbers."""
    return sum(numbers)


@task(1, ([1, 2, 3],), ([7],), (["a", "b"],), ([0, False],), ([[], [1]],), heldout=True)
def last_item(items: list) -> object:
    """Return the last item of a list that is not empty."""
    return items[-1]


@task(2, ([1, 2, 3, 4],), ([],), ([1, 3],), ([0, -2, 5],), ([8, 6],))
def only_even(numbers: list[int]) -> list[int]:
    """Return the even numbers in their order."""
    return [n for n in numbers if n % 2 == 0]


@task(2, ([1, 2, 3],), ([5],), ([1, 2],), ([0, 0, 0, 1],), ([-3, 3],), heldout=True)
def mean(numbers: list[int]) -> float:
    """Return the mean of numbers of which there is at least one."""
    return sum(numbers) / len(numbers)


@task(3, ([3, 1, 3, 2, 1],), ([],), ([1, 1, 1],), (["b", "a", "b"],), ([4, 3, 2],))
def without_repeats(items: list) -> list:
    """Return each item once, in the order of its first place."""
    kept = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


@task(3, ([3, 9, 4],), ([5, 5, 1],), ([-1, -2],), ([7, 7],), ([1, 2, 3, 3],), ([10, 0, 10, 9],))
def second_largest(numbers: list[int]) -> int | None:
    """Return the largest number that is smaller than the largest one, or None where there is
    none."""
    smaller = [n for n in numbers if n < max(numbers)]
    return max(smaller) if smaller else None


@task(
    4, ([1, 2, 3, 4, 5], 2), ([1, 2, 3], -1), ([], 3), ([1, 2], 4), ([1, 2, 3], 0), ([4, 5, 6], 7)
)
def rotate(items: list, places: int) -> list:
    """Move every item so many places to the right, where what leaves at the end comes in at the
    beginning; a negative number moves to the left."""
    if not items:
        return []
    cut = -places % len(items)
    return items[cut:] + items[:cut]


@task(4, ([1, 2, 3, 4, 5], 2), ([], 3), ([1, 2, 3], 5), ([1, 2, 3, 4], 2), ([1], 1), heldout=True)
def chunks(items: list, size: int) -> list[list]:
    """Cut the list into pieces of this size, of which the last may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


@task(5, ([1, 3, 5], [2, 4]), ([], [1]), ([1, 1], [1]), ([], []), ([5, 6], [1, 2]), ([-1], [-2, 0]))
def merge_sorted(a: list[int], b: list[int]) -> list[int]:
    """Merge two lists that are sorted from small to large into one that is."""
    merged, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            merged.append(a[i])
            i += 1
        else:
            merged.append(b[j])
            j += 1
    return merged


@task(5, ([1, [2, [3, []]], 4],), ([],), ([[[]]],), ([[1], [2, [3]]],), ([0],))
def flatten(nested: list) -> list:
    """Return the numbers in a list of numbers and such lists, in their order."""
    flat: list = []
    for item in nested:
        flat += flatten(item) if isinstance(item, list) else [item]
    return flat


@task(6, ([-2, 1, -3, 4, -1, 2, 1, -5, 4],), ([1, 2],), ([-3, -1],), ([5],), ([2, -1, 2, -9, 3],))
def best_run(numbers: list[int]) -> int:
    """Return the greatest sum of one or more numbers that stand side by side; the list is not
    empty."""
    best = here = numbers[0]
    for n in numbers[1:]:
        here = max(n, here + n)
        best = max(best, here)
    return best


@task(
    6,
    ([2, 7, 11, 15], 9),
    ([3, 3], 6),
    ([1, 2], 7),
    ([], 0),
    ([4, 1, 5, 3], 8),
    ([0, 4], 8),
    heldout=True,
)
def pair_with_sum(numbers: list[int], wanted: int) -> bool:
    """Return whether two numbers at different places have the wanted sum."""
    seen = set()
    for n in numbers:
        if wanted - n in seen:
            return True
        seen.add(n)
    return False


@task(7, ([10, 9, 2, 5, 3, 7, 101, 18],), ([],), ([1, 1, 1],), ([3, 2, 1],), ([0, 8, 4, 12, 2],))
def longest_rising(numbers: list[int]) -> int:
    """Return the length of the longest strictly rising sequence that is left when numbers are
    crossed out."""
    best: list[int] = []
    for place, n in enumerate(numbers):
        best.append(1 + max((best[i] for i in range(place) if numbers[i] < n), default=0))
    return max(best, default=0)


@task(9, (3,), (1,), (0,), (4,), heldout=True)
def orders(n: int) -> list[list[int]]:
    """Return all orders of the numbers 1 to n, themselves in the order of a dictionary; for 0 that
    is one empty order."""
    if n == 0:
        return [[]]
    made: list[list[int]] = [[]]
    for _ in range(n):
        made = [[*start, k] for start in made for k in range(1, n + 1) if k not in start]
    return made
