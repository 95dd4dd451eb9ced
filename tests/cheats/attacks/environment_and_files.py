"""Attacks on the environment and on files."""

from __future__ import annotations

from attack import Attack

from attacks.native import attack, io, run

ATTACKS: list[Attack] = [
    attack(
        "read_passwd",
        "read the machine's users",
        run(
            'match IO.FS.readFile "/etc/passwd" 0 with\n'
            "  | .ok t _ => .error (.error s t) st\n"
            '  | .error _ _ => .error (.error s "refused") st'
        ),
    ),
    attack(
        "environ",
        "read the environment of the process above",
        run(
            'match IO.FS.readFile "/proc/1/environ" 0 with\n'
            "  | .ok t _ => .error (.error s t) st\n"
            '  | .error _ _ => .error (.error s "refused") st'
        ),
    ),
    attack(
        "getenv",
        "ask for a secret by name",
        run(
            'match IO.getEnv "PROOFGYM_CHEAT_SECRET" 0 with\n'
            "  | .some t => .error (.error s t) st\n"
            '  | .none => .error (.error s "unset") st'
        ),
    ),
    attack(
        "overwrite_source",
        "rewrite the file that is being checked",
        run(io('IO.FS.writeFile "Check.lean" "theorem no : True := trivial"')),
    ),
    attack(
        "poison_library",
        "write into the compiled library",
        run(io('IO.FS.writeFile "/usr/lib/proofgym-cheat.olean" "x"')),
    ),
    attack(
        "shared_memory",
        "leave a note for the next check",
        run(io('IO.FS.writeFile "/dev/shm/proofgym-cheat" "x"')),
    ),
    attack("remove_home", "remove folders", run(io('IO.FS.removeDirAll "/root"'))),
    attack(
        "make_folder",
        "make a folder outside",
        run(io('IO.FS.createDirAll "/tmp/proofgym-cheat/a"')),
    ),
    attack(
        "rename",
        "put another file in a file's place",
        run(io('IO.FS.rename "/usr/bin/env" "/usr/bin/env2"')),
    ),
    attack("include_str", "a file as a string", '  exact include_str "/etc/passwd"', by="code"),
    attack("import", "load another module", "  exact cheat\nimport Lean"),
]
