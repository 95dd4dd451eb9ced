"""Functions about tables: lists of lists, and dictionaries with text as keys."""

from __future__ import annotations

from proofgym.tasks.python_functions.function import Topic

TABLES = Topic("tables")
task = TABLES.task


@task(2, ({"a": 1, "b": 2},), ({},), ({"x": -1},), ({"k": 5, "l": 5},))
def sum_of_values(table: dict[str, int]) -> int:
    """Return the sum of the values."""
    return sum(table.values())


@task(3, ("banana",), ("",), ("aA",), ("hello",), ("zzz",))
def letter_counts(text: str) -> dict[str, int]:
    """Return how often each letter of the text occurs in it."""
    counts: dict[str, int] = {}
    for letter in text:
        counts[letter] = counts.get(letter, 0) + 1
    return counts


@task(3, ({"a": "x", "b": "y"},), ({},), ({"k": "k"},), ({"one": "1", "two": "2"},), heldout=True)
def swap_keys(table: dict[str, str]) -> dict[str, str]:
    """Return a table with keys and values exchanged; all values differ."""
    return {value: key for key, value in table.items()}


@task(
    4,
    ([[1, 2], [3, 4], [5, 6]],),
    ([[1]],),
    ([[1, 2, 3]],),
    ([[1], [2]],),
    ([["a", "b"], ["c", "d"]],),
)
def transpose(rows: list[list]) -> list[list]:
    """Return the columns of a table of at least one row as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


@task(
    4, (["to", "be", "or", "not", "to", "be"],), ([],), (["b", "a"],), (["x", "y", "y", "x", "y"],)
)
def most_common(words: list[str]) -> str | None:
    """Return the word that occurs most often; of several, the first in the alphabet; None where
    there is no word."""
    return min(words, key=lambda word: (-words.count(word), word)) if words else None


@task(5, (["apple", "bob", "cat", "be", "a"],), ([],), (["xx", "yy"],), (["b", "a"],), heldout=True)
def by_length(words: list[str]) -> dict[str, list[str]]:
    """Group the words by their length, written as text, each group in the order of the words:
    ["a", "bc"] gives {"1": ["a"], "2": ["bc"]}."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(str(len(word)), []).append(word)
    return groups


@task(
    5,
    ([[1, 2], [3, 4]], [[5, 6], [7, 8]]),
    ([[2]], [[3]]),
    ([[1, 0, 2]], [[1], [2], [3]]),
    ([[1], [2]], [[3, 4]]),
)
def matrix_product(a: list[list[int]], b: list[list[int]]) -> list[list[int]]:
    """Return the product of two matrices that are given by their rows."""
    columns = range(len(b[0]))
    return [
        [sum(x * line[j] for x, line in zip(row, b, strict=True)) for j in columns] for row in a
    ]


@task(
    6,
    ([[1, 2, 3], [4, 5, 6], [7, 8, 9]],),
    ([[1]],),
    ([[1, 2]],),
    ([[1], [2], [3]],),
    ([[1, 2], [3, 4]],),
)
def spiral(rows: list[list[int]]) -> list[int]:
    """Return the numbers of a table clockwise from the upper left corner to the middle."""
    walked: list[int] = []
    rows = [list(row) for row in rows]
    while rows:
        walked += rows.pop(0)
        rows = [list(column) for column in zip(*rows, strict=True)][::-1]
    return walked


@task(
    7,
    ([[1, 1, 0], [0, 1, 0], [1, 0, 1]],),
    ([[0]],),
    ([[1]],),
    ([[1, 0], [0, 1]],),
    ([[1, 1], [1, 1]],),
    heldout=True,
)
def islands(grid: list[list[int]]) -> int:
    """Count the groups of ones in a grid of ones and zeros, where ones belong together that are
    side by side or above each other."""
    left = {(i, j) for i, row in enumerate(grid) for j, cell in enumerate(row) if cell}
    count = 0
    while left:
        count += 1
        waiting = [left.pop()]
        while waiting:
            i, j = waiting.pop()
            for place in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                if place in left:
                    left.remove(place)
                    waiting.append(place)
    return count


@task(
    8,
    ([[0, 0, 0], [1, 1, 0], [0, 0, 0]],),
    ([[0]],),
    ([[0, 1], [1, 0]],),
    ([[1]],),
    ([[0, 0], [1, 0]],),
    ([[0, 0, 1], [1, 0, 0], [0, 0, 0]],),
)
def shortest_way(grid: list[list[int]]) -> int:
    """Return the least number of steps (right, left, up, down) from the upper left to the lower
    right corner through zeros, or -1 where there is no way."""
    height, width = len(grid), len(grid[0])
    steps, here, seen = 0, {(0, 0)} if grid[0][0] == 0 else set(), set()
    while here:
        if (height - 1, width - 1) in here:
            return steps
        seen |= here
        around = {(i + a, j + b) for i, j in here for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))}
        here = {
            (i, j)
            for i, j in around - seen
            if 0 <= i < height and 0 <= j < width and grid[i][j] == 0
        }
        steps += 1
    return -1


@task(9, (4,), (1,), (2,), (6,), (8,), (3,))
def queens(n: int) -> int:
    """Count the ways to place n queens on a board of n by n fields so that no two share a row, a
    column or a diagonal."""

    def place(row: int, columns: set[int], rising: set[int], falling: set[int]) -> int:
        if row == n:
            return 1
        return sum(
            place(row + 1, columns | {c}, rising | {row + c}, falling | {row - c})
            for c in range(n)
            if c not in columns and row + c not in rising and row - c not in falling
        )

    return place(0, set(), set(), set())


@task(
    10,
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []},),
    ({},),
    ({"x": ["x"]},),
    ({"p": ["q"], "q": ["p"]},),
    ({"b": [], "a": []},),
    ({"c": ["a"], "b": [], "a": []},),
    heldout=True,
)
def build_order(needs: dict[str, list[str]]) -> list[str] | None:
    """Each name needs the names in its list to come before it. Return all names in such an order,
    where of those that can come next the first in the alphabet comes; None where there is no such
    order."""
    order: list[str] = []
    while len(order) < len(needs):
        ready = [
            name
            for name in sorted(needs)
            if name not in order and all(need in order for need in needs[name])
        ]
        if not ready:
            return None
        order.append(ready[0])
    return order
