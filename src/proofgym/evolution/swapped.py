"""Modules that compute in another way for a time: the same object in its place in the model, with
its own parameters, under another class.

What the other way reads lies among the module's buffers. So a layer's forward pass stays a function
of tensors alone: compiled once it serves every layer, and a CUDA graph of it may be replayed with
other values in the same memory. Compilers take the shapes of buffers as fixed.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from proofgym.errors import EngineError

NOT_LAID = "the population is not laid over the model: work inside its `with` block"


class Swapped(nn.Module):
    """The other way. A subclass says what it reads, and computes."""

    reads: ClassVar[tuple[str, ...]] = ()
    """Names of buffers; each is None until it is given."""
    own_class: ClassVar[Any]
    """The class that the module had."""

    def read(self, name: str) -> Tensor:
        """A buffer that must be there."""
        return self.get_buffer(name)

    def read_if_any(self, name: str) -> Tensor | None:
        return self._buffers[name]


def swap(module: nn.Module, other: type[Swapped], **settings: Any) -> None:
    """Have a module compute as `other` with these class attributes, which must be hashable;
    harmless where it does."""
    if not isinstance(module, Swapped):
        module.__class__ = _class(type(module), other, settings)
        for name in other.reads:
            module._buffers[name] = None


def give(module: nn.Module, **buffers: Tensor | None) -> None:
    """Let a swapped module read these. Raises EngineError for one that is not, or no longer."""
    if not isinstance(module, Swapped):
        raise EngineError(NOT_LAID)
    module._buffers.update(buffers)


def restore(module: nn.Module) -> None:
    """Undo `swap`; harmless where there is nothing to undo."""
    if isinstance(module, Swapped):
        for name in module.reads:
            del module._buffers[name]
        module.__class__ = module.own_class


_classes: dict[Any, Any] = {}


def _class(own: type, other: type[Swapped], settings: dict[str, Any]) -> Any:
    """One class for all modules of a kind: compiled code depends on it."""
    key = own, other, *sorted(settings.items())
    made = _classes.get(key)
    if made is None:
        name = f"{other.__name__.lstrip('_')}{own.__name__}"
        made = _classes[key] = type(name, (other, own), {"own_class": own, **settings})
    return made
