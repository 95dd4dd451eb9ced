"""Attacks that rest on axioms, or hide on which."""

from __future__ import annotations

from attack import BARE, CHEAT, FAILED, Attack

ATTACKS: list[Attack] = [
    Attack("after", "an axiom after the proof", "  exact c\naxiom c : False", "command"),
    Attack("header", "an axiom of the header", "  exact cheat", "axioms", header=CHEAT),
    Attack(
        "allowed_name_in_namespace",
        "an axiom Foo.propext, printed as `propext` inside Foo",
        "  exact Foo.propext",
        "full_names",
        header="namespace Foo\naxiom propext : False",
    ),
    Attack(
        "allowed_name_of_its_own",
        "an axiom under an allowed name where the library has none",
        "prelude\ninductive False : Prop\naxiom propext : False\ntheorem no : False := propext\n",
        "origin",
        form="file",
    ),
    Attack(
        "file_namespace_left_open",
        "a file that ends inside a namespace, so that its axiom is printed short",
        "namespace Foo\naxiom propext : False\ntheorem no : False := Foo.propext\n",
        "full_names",
        form="file",
    ),
    Attack(
        "file_other_theorem_answers",
        "a file that ends where the theorem's name means another one",
        "axiom c : False\ntheorem no : False := c\nnamespace Foo\ntheorem no : True := trivial\n",
        "root_names",
        form="file",
    ),
    Attack("reduce_bool", "trust in compiled code", "  exact Lean.ofReduceBool _ _ rfl", "trusted"),
    Attack("opaque", "an opaque constant", "  exact c\nopaque c : False", "command"),
    Attack("variable", "a variable as hypothesis", "  exact h\nvariable (h : False)", "command"),
    Attack(
        "choice",
        "choice from a type shown inhabited by the theorem itself",
        "  exact Classical.choice ⟨no⟩",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "allowed_name_by_the_proof",
        "the proof declares an axiom under an allowed name",
        "  exact propext\naxiom propext : Never",
        "command",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "spaced_name",
        "an axiom whose name is an allowed one and a space",
        "  exact «propext »",
        "axioms",
        header="axiom «propext » : False",
    ),
    Attack(
        "listed_name",
        "an axiom whose name reads as a list of allowed ones",
        "  exact «propext, Quot.sound»",
        "axioms",
        header="axiom «propext, Quot.sound» : False",
    ),
    Attack(
        "clean_name",
        "a theorem whose name reads as the clean answer",
        "axiom c : False\ntheorem «x' does not depend on any axioms» : False := c\n",
        "axioms",
        form="file",
    ),
]
