"""Functions about text."""

from __future__ import annotations

from proofgym.tasks.python_functions.function import Topic

STRINGS = Topic("strings")
task = STRINGS.task


@task(1, ("abc",), ("",), ("x",), ("a b",), ("level",), ("Ab1",))
def backwards(text: str) -> str:
    """Return the text backwards."""
    return text[::-1]


@task(1, ("banana", "a"), ("", "a"), ("xyz", "a"), ("AaA", "A"), ("aaaa", "a"))
def count_letter(text: str, letter: str) -> int:
    """Return how often a letter occurs in the text; capitals are other letters."""
    return text.count(letter)


@task(2, ("hello world",), ("",), ("  a  b ",), ("one",), ("tab\tand\nline",), heldout=True)
def count_words(text: str) -> int:
    """Return the number of words, which are separated by any white space."""
    return len(text.split())


@task(2, ("education",), ("xyz",), ("",), ("AEIOU",), ("Programming",), ("eel",))
def count_vowels(text: str) -> int:
    """Count the letters a, e, i, o and u in the text, small or capital."""
    return sum(letter in "aeiou" for letter in text.lower())


@task(3, ("level",), ("Level",), ("",), ("ab",), ("A man a plan a canal Panama",), ("abca",))
def is_palindrome(text: str) -> bool:
    """Return whether the text reads the same backwards, where capitals count as small letters and
    spaces do not count."""
    letters = text.lower().replace(" ", "")
    return letters == letters[::-1]


@task(3, ("the quick brown fox",), ("a",), ("",), ("to be or not",), ("x  y",), heldout=True)
def initials(text: str) -> str:
    """Return the first letters of the words as capitals, without anything between them."""
    return "".join(word[0].upper() for word in text.split())


@task(4, ("hello", 3), ("xyz", 3), ("Zebra!", 1), ("abc", 0), ("abc", 27), ("Hi you", 13))
def caesar(text: str, shift: int) -> str:
    """Move each letter so many places on in the alphabet, after z comes a; capitals stay capitals,
    and what is no English letter stays as it is."""
    moved = ""
    for letter in text:
        if "a" <= letter <= "z":
            letter = chr((ord(letter) - ord("a") + shift) % 26 + ord("a"))
        elif "A" <= letter <= "Z":
            letter = chr((ord(letter) - ord("A") + shift) % 26 + ord("A"))
        moved += letter
    return moved


@task(4, ("listen", "silent"), ("abc", "abd"), ("aab", "abb"), ("", ""), ("Tea", "eat"), ("a", ""))
def are_anagrams(a: str, b: str) -> bool:
    """Return whether two words have the same letters in any order; capitals count as small."""
    return sorted(a.lower()) == sorted(b.lower())


@task(5, ("aaabcc",), ("",), ("a",), ("abc",), ("zzzzzzzzzzzz",), ("aabaa",), heldout=True)
def run_lengths(text: str) -> str:
    """Replace each run of one letter by the letter and the run's length: "aab" becomes "a2b1"."""
    packed, start = "", 0
    for place in range(1, len(text) + 1):
        if place == len(text) or text[place] != text[start]:
            packed += text[start] + str(place - start)
            start = place
    return packed


@task(
    5,
    (["flower", "flow", "flight"],),
    (["a"],),
    ([],),
    (["x", "y"],),
    (["ab", "ab"],),
    (["", "a"],),
)
def common_start(words: list[str]) -> str:
    """Return the longest text that every word begins with; "" where there is no word."""
    if not words:
        return ""
    start = min(words, key=len)
    while not all(word.startswith(start) for word in words):
        start = start[:-1]
    return start


@task(6, ("([]{})",), ("(]",), ("",), ("((",), (")(",), ("a(b)c",), ("([)]",), ("}",))
def brackets_match(text: str) -> bool:
    """Return whether every bracket ( [ { is closed by its own kind in the right order; other
    letters do not matter."""
    pairs, waiting = {")": "(", "]": "[", "}": "{"}, []
    for letter in text:
        if letter in "([{":
            waiting.append(letter)
        elif letter in pairs and (not waiting or waiting.pop() != pairs[letter]):
            return False
    return not waiting


@task(
    7,
    ("kitten", "sitting"),
    ("", "abc"),
    ("abc", "abc"),
    ("flaw", "lawn"),
    ("a", "b"),
    heldout=True,
)
def edit_distance(a: str, b: str) -> int:
    """Return the least number of letters to insert, delete or replace that turns a into b."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@task(8, ("2+3*4",), ("10-4-3",), ("7",), ("2*3*4-5",), ("100-2*30+1",), ("8-8*0",))
def calculate(text: str) -> int:
    """Return the value of whole numbers joined by +, - and *, where * comes before + and -; there
    are no spaces, no brackets and no signs before a number."""
    total = 0
    for term in text.replace("-", "+-").split("+"):
        sign, product = (-1, term[1:]) if term.startswith("-") else (1, term)
        value = sign
        for factor in product.split("*"):
            value *= int(factor)
        total += value
    return total
