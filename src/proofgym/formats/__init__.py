"""Prompt formats of prover models: what they are asked, and how their answers are read."""

from proofgym.formats.format import Format, Theorem
from proofgym.formats.prompts import FORMATS, format_named

__all__ = ["FORMATS", "Format", "Theorem", "format_named"]
