"""The attacks, by class; each module holds a few classes."""

from __future__ import annotations

from attack import Attack

from . import bytes_and_sizes, code, resources, text

CLASSES: dict[str, list[Attack]] = {
    **text.CLASSES,
    **code.CLASSES,
    **resources.CLASSES,
    **bytes_and_sizes.CLASSES,
}
