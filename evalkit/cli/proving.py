"""Commands about cases and their graders."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from evalkit.cli.options import (
    DEFAULTS,
    HERE,
    AgainOption,
    IsolationOption,
    JsonOption,
    RootOption,
    RunArgument,
    SeedOption,
    UnsandboxedOption,
    WorkersOption,
    show,
)
from evalkit.records import Kind


def verify(
    cases: Annotated[
        list[str] | None, typer.Argument(help="Cases; all if none.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="All cases of a corpus.")] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Grade mutants of `correct`, too.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Only so many mutants of each case."),
    ] = None,
    root: RootOption = HERE,
    workers: WorkersOption = 2,
    seed: SeedOption = 1,
    isolation: IsolationOption = "bwrap",
    allow_unsandboxed: UnsandboxedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Prove graders: grade every overlay and hold it against what it must get."""
    from evalkit import proof, sandbox, strength
    from evalkit.console.advance import bar
    from evalkit.console.proving import effort_lines, proof_lines, strength_lines
    from evalkit.corpus import case_ids

    box = sandbox.open_box(isolation, allow_unsandboxed=allow_unsandboxed, root=root)
    chosen = case_ids(root, cases or [], corpus)
    mutants = mutants or sample is not None
    started = time.monotonic()
    with bar("graded") as told:
        proofs = proof.verify(
            root, chosen, box=box, n_workers=workers, seed=seed, done=told
        )
    lines = proof_lines(proofs)
    lines += effort_lines(proofs, workers, time.monotonic() - started)
    strengths: tuple[strength.Strength, ...] = ()
    if mutants and all(found.holds for found in proofs):
        with bar("mutants") as told:
            strengths = strength.measure(
                root,
                chosen,
                box=box,
                n_workers=workers,
                seed=seed,
                sample=sample,
                done=told,
            )
        lines += strength_lines(strengths)
    document = {"proofs": proofs, "mutants": strengths} if mutants else proofs
    show(document, as_json, lines)
    if not all(found.holds for found in (*proofs, *strengths)):
        sys.exit(1)


def grade(
    case: Annotated[str, typer.Argument(help="Case id.")],
    workspace: Annotated[Path, typer.Argument(help="Folder to grade.")],
    step: Annotated[int, typer.Option(help="Step of a chain, from 1.")] = 1,
    root: RootOption = HERE,
    seed: SeedOption = 1,
    isolation: IsolationOption = "bwrap",
    allow_unsandboxed: UnsandboxedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Grade any folder as if an agent had delivered it."""
    from evalkit import proof, sandbox
    from evalkit.console.proving import grade_lines
    from evalkit.corpus import load_case, step_number

    loaded = load_case(root, case)
    box = sandbox.open_box(isolation, allow_unsandboxed=allow_unsandboxed, root=root)
    found = proof.grade_folder(
        root, loaded, step_number(loaded, step), workspace, box=box, seed=seed
    )
    show(found, as_json, grade_lines(found))
    if found.died or not all(check.passed for check in found.checks):
        sys.exit(1)


def new_case(
    name: Annotated[str, typer.Argument(help="Id of the case: words-and-hyphens.")],
    corpus: Annotated[
        str | None, typer.Option(help="Corpus it joins; default: one of its own name.")
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="Default: feature, or chain where it has steps.")
    ] = None,
    chain: Annotated[
        list[str] | None, typer.Option(help="Slug of a step; again for the next.")
    ] = None,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Make every file of a small case that works, for you to change step by step.

    An empty folder as root becomes one.
    """
    from evalkit import scaffold

    made = scaffold.new_case(root, name, kind=kind, chain=chain or (), into=corpus)
    lines = [f"made {path}" for path in made.made]
    show(made, as_json, [*lines, "", "then:", *(f"  {c}" for c in made.commands)])


def audit(
    name: Annotated[str, typer.Argument(help="A corpus, or a run's id or folder.")],
    workers: WorkersOption = 1,
    isolation: AgainOption = None,
    allow_unsandboxed: UnsandboxedOption = False,
    root: RootOption = HERE,
    seed: SeedOption = 1,
    page: Annotated[
        bool,
        typer.Option("--page", help="Of a run: look at all it rests on, too; as HTML."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Of a run: check record and evidence, make each verdict again; writes nothing.

    With --page: proofs, mutants, fixes and gate run as well, in `audit.html`.

    Of a corpus about injected knowledge: try every plausible fix, look for leaks;
    the verdict is saved. Exit 1 where anything fails or is flagged.
    """
    from evalkit import ambiguity, sandbox
    from evalkit.audit import audit as examine
    from evalkit.console.advance import bar
    from evalkit.console.proving import ambiguity_lines
    from evalkit.console.running import audit_lines
    from evalkit.corpus import load_corpora
    from evalkit.parameters import find_run

    if (root / "cases").is_dir() and name in load_corpora(root):
        if page:
            raise typer.BadParameter("--page is for runs; this is a corpus")
        box = sandbox.open_box(
            isolation or DEFAULTS.isolation,
            allow_unsandboxed=allow_unsandboxed,
            root=root,
        )
        with bar("graded") as told:
            verdict = ambiguity.audit_corpus(
                root, name, box=box, n_workers=workers, seed=seed, done=told
            )
        show(verdict, as_json, ambiguity_lines(verdict))
        if verdict.flagged:
            sys.exit(1)
        return
    run = find_run(name, root)
    if page:
        from evalkit.auditing import publish_audit

        with bar("proofs, mutants, fixes, gate run and verdicts"):
            made = publish_audit(
                run,
                root,
                isolation=isolation,
                allow_unsandboxed=allow_unsandboxed,
                n_workers=workers,
            )
        found, path = made.found, str(made.page)
        document = {**msgspec.to_builtins(found), "page": path}
        show(document, as_json, [*audit_lines(found), path])
    else:
        with bar("attempts") as told:
            found = examine(
                run,
                root,
                isolation=isolation,
                allow_unsandboxed=allow_unsandboxed,
                n_workers=workers,
                done=told,
            )
        show(found, as_json, audit_lines(found))
    if found.verdict == "fail":
        sys.exit(1)


def gate(
    run: RunArgument, root: RootOption = HERE, as_json: JsonOption = False
) -> None:
    """Say whether a gate run shows its signal, by the rule that was sealed with it.

    Exit 1 where no main run may rest on it; a simulated one satisfies nothing.
    """
    from evalkit import readiness
    from evalkit.console.proving import gate_lines
    from evalkit.parameters import find_run

    found = readiness.judge_run(find_run(run, root))
    show(found, as_json, gate_lines(found))
    if not found.satisfies:
        sys.exit(1)


def preflight(
    corpus: Annotated[str, typer.Argument(help="A corpus about injected knowledge.")],
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Say whether all is in place for a main run: proofs, audit, gate run, texts.

    Exit 1 where a line is not passed.
    """
    from evalkit.console.proving import preflight_lines
    from evalkit.preflight import preflight as examine

    found = examine(root, corpus)
    show(found, as_json, preflight_lines(found))
    if not found.clear:
        sys.exit(1)
