"""Attacks that answer in the place of the trusted ending."""

from __future__ import annotations

from attack import FAILED, REJECTED, Attack

from attacks.native import AXIOMS_ANSWER, answer_line, attack, io, run, then_forge, then_print

ATTACKS: list[Attack] = [
    attack(
        "captured_stdout",
        "the answer printed, which Lean takes into a message",
        run(then_print(f'(IO.getStdout 0).putStr "{AXIOMS_ANSWER}" 0')),
    ),
    attack(
        "stdout_file",
        "the answer written to standard output by its name in /proc",
        run(io(f'IO.FS.writeFile "/proc/self/fd/1" "{answer_line(70)}"')),
        ends=REJECTED,
    ),
    attack(
        "stdout_device",
        "the same by the device",
        run(io(f'IO.FS.writeFile "/dev/stdout" "\\n{answer_line(71)}"')),
    ),
    attack(
        "stderr_file",
        "an answer on the other stream",
        run(io(f'IO.FS.writeFile "/proc/self/fd/2" "{answer_line(72)}"')),
    ),
    attack(
        "parent_output",
        "the output of the process above, by /proc",
        run(io('IO.FS.writeFile "/proc/1/fd/1" "x"')),
    ),
    attack(
        "trace",
        "the answer as a trace of the proof",
        f'  trace "{AXIOMS_ANSWER}"\n  exact cheat',
        by="axioms",
    ),
    attack(
        "failure",
        "a failure whose text reads as a message",
        f'  fail "\\n{answer_line(4)}"',
        by="no_error",
        header="",
        ends=FAILED,
    ),
    attack("print", "the answer printed by a command", f'  exact cheat\n#print "{AXIOMS_ANSWER}"'),
    attack(
        "dbg_trace", "text while the kernel evaluates", '  exact dbg_trace "x"; cheat', by="code"
    ),
    attack(
        "mark",
        "read the trusted ending, to answer with its random word",
        run(
            then_forge(
                '(match IO.FS.readFile "/proc/self/fd/0" 0 with | .ok t _ => '
                "(match IO.FS.readFile t 0 with | .ok _ _ => 0 | .error _ _ => 1) "
                "| .error _ _ => 2)"
            )
        ),
        past_scan="passes",
    ),
]
