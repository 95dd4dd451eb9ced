"""Attacks that end Lean as if all were well."""

from __future__ import annotations

from attack import Attack

from attacks.native import answer_line, attack, number, run

ATTACKS: list[Attack] = [
    attack(
        "exit_0",
        "end Lean with status 0 before the axioms are listed",
        run(number("IO.Process.exit 0 0")),
    ),
    attack(
        "exit_early",
        "the same before the type is printed",
        run(number("IO.Process.exit 1 0"), on="check"),
    ),
    attack(
        "exit_after_forging",
        "print, then end with status 0",
        run(number('IO.Process.exit ((IO.getStdout 0).putStr "' + answer_line(73) + '" 0) 0')),
    ),
    attack(
        "exit_silent",
        "end with status 1 and no word, as a Lean that could not start",
        run(number("IO.Process.exit 0 1"), on="in"),
    ),
    attack(
        "exit_204", "end with a status that could be anything", run(number("IO.Process.exit 1 204"))
    ),
    attack("segfault", "die inside a call", run(number("(IO.getStdout 0).read 12345 0"))),
    attack(
        "exit_after_error",
        "status 0 after an error was found",
        "exact nothing_here" + run(number("IO.Process.exit 3 0"))[len("exact cheat") :],
    ),
]
