"""Runs a candidate's function in a sandbox: calls on standard input, what they return on output.

It knows arguments only, never what is expected, so nothing that the candidate's code does to this
process (patching it, ending it, writing to its output) can say more than "the function returned
this value", which the trusted side compares.

One JSON object in: {"function", "source", "calls": [[argument, ...], ...]}. One line out for each
call in turn, {"call": number, "value": ...} or {"call": number, "error": text}; before them
{"ready": true} or {"load": text}, after which there are no more.
"""

import json
import os
import sys
import types


def main():
    request = json.loads(sys.stdin.buffer.read())
    # What the function prints is not taken for an answer by accident.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    calls = [json.dumps(arguments) for arguments in request["calls"]]
    try:
        function = load(request["source"], request["function"])
    except BaseException as error:
        say(out, {"load": describe(error)})
        return
    say(out, {"ready": True})
    for number, arguments in enumerate(calls):
        try:
            # Read anew: a function that changes its arguments does not change the next call's.
            answer = {"call": number, "value": function(*json.loads(arguments))}
            line = json.dumps(answer)
        except BaseException as error:
            line = json.dumps({"call": number, "error": describe(error)})
        out.write(line + "\n")
        out.flush()


def load(source, name):
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    exec(compile(source, "candidate.py", "exec"), module.__dict__)
    if not callable(module.__dict__.get(name)):
        raise NameError(f"there is no function {name!r}")
    return module.__dict__[name]


def describe(error):
    return f"{type(error).__name__}: {error}"[:300]


def say(out, line):
    out.write(json.dumps(line) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
