"""Attacks that leave the sandbox by a shell: files, network, processes and rights of the machine.

In a warm Lean the system-call filter lets none of them start; a Lean of its own for each check
has the sandbox alone around it.
"""

from __future__ import annotations

from attack import Attack

from attacks.native import attack, shell

DAEMON = "sleep 7321.25"
"""The command line of the process that `daemon` leaves."""

PORT = 17321
"""Where `connect` looks for a service of this machine."""

ATTACKS: list[Attack] = [
    attack("read", "read the machine's users by a program", shell("cat /etc/passwd")),
    attack(
        "connect",
        "reach a service of this machine over the network",
        shell(f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT} && echo connected'"),
    ),
    attack(
        "daemon",
        "leave a process that outlives the check",
        shell(f"setsid {DAEMON} </dev/null >/dev/null 2>&1 & echo left"),
    ),
    attack(
        "processes",
        "read what other processes were started with",
        shell("cat /proc/[0-9]*/environ | tr '\\\\0' ' '"),
    ),
    attack("signal", "end every process", shell("kill -9 -1")),
    attack("mount", "mount a folder over another", shell("mount -t tmpfs none /usr && echo done")),
    attack("install", "put a program in the place of another", shell("cp /bin/true /usr/bin/lean")),
]
