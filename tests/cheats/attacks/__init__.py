"""The attacks, by class: a module of the class's name, or one that holds a few kindred classes."""

from __future__ import annotations

from attack import Attack

from . import (
    axioms,
    bytes_and_sizes,
    comments,
    early_end,
    environment_and_files,
    escapes,
    exit_status,
    forged_output,
    hidden_words,
    instances_and_options,
    look_alikes,
    metaprogramming,
    other_types,
    process_and_memory_bombs,
    resources,
    shadowing,
    sorry,
)

CLASSES: dict[str, list[Attack]] = {
    "sorry": sorry.ATTACKS,
    "axioms": axioms.ATTACKS,
    "early end": early_end.ATTACKS,
    "shadowing": shadowing.ATTACKS,
    "instances and options": instances_and_options.ATTACKS,
    "comments": comments.ATTACKS,
    "hidden words": hidden_words.ATTACKS,
    "look-alikes": look_alikes.ATTACKS,
    "metaprogramming": metaprogramming.ATTACKS,
    "forged output": forged_output.ATTACKS,
    "other types": other_types.ATTACKS,
    "exit status": exit_status.ATTACKS,
    "environment and files": environment_and_files.ATTACKS,
    "process and memory bombs": process_and_memory_bombs.ATTACKS,
    "escapes": escapes.ATTACKS,
    **resources.CLASSES,
    **bytes_and_sizes.CLASSES,
}
