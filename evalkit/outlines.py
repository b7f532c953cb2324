"""What is about to run: a draft and a registration as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit import corpus, reference, stats
from evalkit.foresight import DesignReach, Foresight, foresee
from evalkit.markup import Column, Page, Prose, Shown, Table
from evalkit.plan import Draft, Outline
from evalkit.records import Registration, Wording
from evalkit.wording import (
    NOT_REPORTED,
    agent,
    count,
    k_of,
    listed,
    n_of,
    score,
    short,
    usd,
)

_PROMPTS = {
    Wording.BARE: "the task alone",
    Wording.CATALOGUE: "the task, names and descriptions of all skills",
    Wording.CANONICAL: "the task, full texts of the skills the case names",
    Wording.ROUTED: "the task, full text of the skill that routing picks",
    Wording.INJECTION: "the task, one or two sentences of team knowledge",
}


def question(registration: Registration) -> Prose:
    """What a plan asks, in a paragraph."""
    plan = registration.plan
    arms = [seal.arm.name for seal in registration.arms]
    against = [name for name in plan.comparators if name in arms]
    who = agent(registration.agent.name, registration.agent.version)
    asked = (
        f"On these {n_of(len(registration.cases), 'case')} of {plan.corpus}: does the "
        f"{plan.outcome} of what {who} delivers change with its context "
        f"({listed(arms)}), held against {listed(against)}, and at what price?"
    )
    stand_in = (
        f"the recording of run {registration.replay.run} answers in place of a model"
        if registration.replay
        else "the scripted agent delivers prepared solutions with planted chances"
        if registration.agent.provider is None
        else "a program on this machine answers in place of a model"
    )
    warning = f"{registration.stamp}: {stand_in}. This run shows that the path works; it says nothing of any model."
    paragraphs = (warning, asked) if registration.agent.simulated else (asked,)
    return Prose(paragraphs, "simulated" if registration.agent.simulated else "")


def cases(registration: Registration, root: Path) -> Table:
    """The cases, and what stands behind their graders."""
    rows = [
        (
            seal.id,
            seal.title,
            seal.kind.value,
            count(len(seal.steps)),
            seal.hypothesis,
            _proven(root, seal.id),
        )
        for seal in registration.cases
    ]
    heads = ("Case", "Title", "Kind", "Steps", "Expected", "Its grader is proven by")
    return Table(
        "Cases",
        tuple(Column(head, number=head == "Steps") for head in heads),
        tuple(rows),
        note="A grader is proven when every prepared delivery, right or wrong, gets "
        "exactly the score and the failing checks it must get.",
    )


def arms(draft: Draft) -> Table:
    """What each arm gives to the agent."""
    seals = {seal.arm.name: seal for seal in draft.registration.arms}
    rows = [
        (
            outline.arm,
            count(outline.n_skills),
            _PROMPTS[seals[outline.arm].arm.prompt],
            _bytes(outline.n_injected_bytes_least, outline.n_injected_bytes_most),
            outline.library or "no library",
        )
        for outline in draft.outline.arms
    ]
    columns = (
        Column("Arm"),
        Column("Skills in its home", number=True),
        Column("The prompt holds"),
        Column("Bytes put into a prompt", number=True),
        Column("Library"),
    )
    return Table("What each arm gives", columns, tuple(rows))


def routes(draft: Draft) -> Table:
    """What routing picks for each step, before any model is asked."""
    rows = [
        (
            f"{route.case}, {route.step}",
            listed(route.canonical),
            "a model is asked" if route.asks else route.picked or "none",
            "yes" if route.held else "no",
            listed(f"{c.skill} {c.score:.1f}" for c in route.candidates),
        )
        for route in draft.outline.routes
    ]
    heads = ("Step", "Canonical skills", "Picked", "One is ranked", "Ranked, by score")
    return Table(
        "Routing before any model",
        tuple(map(Column, heads)),
        tuple(rows),
        empty="no arm of this plan is routed.",
    )


def reachable(draft: Draft) -> Prose:
    """How often routing can be right at all, beside a list that never changes."""
    found = draft.outline.recall
    if found is None:
        return Prose(("No arm of this plan is routed.",))
    ceiling = (
        f"A canonical skill is among the candidates for "
        f"{k_of(found.n_held, found.n_needing)} steps that need one. That is the "
        f"ceiling: no model can choose better. One list for all steps "
        f"({listed(found.constant)}) would hold one for "
        f"{k_of(found.n_constant_held, found.n_needing)}."
    )
    chosen = (
        f"{k_of(found.n_admitted, found.n)} steps get a skill by their own words, "
        f"{found.n_admitted_right} of them a canonical one; "
        f"{k_of(found.n_abstained, found.n)} get none and no model is asked."
    )
    return Prose((ceiling, chosen))


def reach(registration: Registration) -> Page:
    """What was declared, what this design can find, and what more would buy."""
    plan = registration.plan
    n_cases, repeats = len(registration.cases), plan.repeats or 0
    found = foresee(n_cases, repeats, confidence=plan.confidence)
    declared = (
        f"The outcome is the {plan.outcome} of a trial, intervals are at "
        f"{plan.confidence:.0%}, and a difference within {score(plan.margin)} counts as "
        f"of no importance. The comparisons that count, corrected for their number: "
        f"{listed(plan.confirmatory or ())}. All others are exploratory."
    )
    tables = [
        _designs("What this design can find, on these cases", found, found.planned),
        _designs(
            "What other designs would find, at one assumed spread", found, found.others
        ),
    ]
    if found.beyond:
        tables.append(
            _designs(
                "On cases like these; the spread is that of differences between cases",
                found,
                found.beyond,
            )
        )
    return Page((Prose((declared, _limit(n_cases, found))), *tables))


def _designs(caption: str, found: Foresight, designs: Sequence[DesignReach]) -> Table:
    heads = (
        "Cases",
        "Repeats",
        "If scores spread by",
        f"it finds, in {found.power:.0%} of runs, a difference of",
        "Least p it can reach",
    )
    rows = [
        (
            count(design.n_cases),
            count(design.repeats),
            score(design.sd),
            "not to be said from one trial"
            if design.difference is None
            else f"more than {score(1)}"
            if design.difference > 1
            else score(design.difference),
            f"{design.p_least:.2g}",
        )
        for design in designs
    ]
    columns = tuple(Column(head, number=True) for head in heads)
    return Table(caption, columns, tuple(rows))


def order(draft: Draft) -> Table:
    """In which order, and at most how much."""
    outline = draft.outline
    rows = (
        ("Trials", f"{count(outline.n_trials)} = {len(outline.cases)} cases x "
         f"{len(outline.arms)} arms x {outline.repeats} repeats"),
        ("Calls of the agent", f"{count(outline.n_planned_calls)} planned, "
         f"{count(outline.max_calls)} at most"),
        ("Wall clock", f"at most {outline.deadline_ms / 60_000:,.0f} min"),
        *_paid(outline),
        ("Order", f"random blocks ({', '.join(outline.first_blocks)}, ...); arms "
         f"within them by a Williams square, imbalance {outline.imbalance}"),
        ("Agent", f"{outline.agent}{' (SIMULATED)' if outline.simulated else ''}"),
        ("Model", outline.model),
        ("Isolation", outline.isolation),
    )  # fmt: skip
    return Table("Order and cost", (Column("What"), Column("As planned")), rows)


def sealed(registration: Registration) -> Table:
    """What was sealed, and under which digests."""
    rows = [
        ("Run", registration.run_id),
        ("Registration", registration.digest),
        ("Sealed at", registration.created_at),
        ("Corpus", f"{registration.plan.corpus}, {short(registration.corpus_digest)}"),
        ("Arms", listed(seal.arm.name for seal in registration.arms)),
        ("Trials", count(len(registration.schedule))),
        ("Agent", f"{agent(registration.agent.name, registration.agent.version)}, "
         f"{short(registration.agent.sha256)}"),
        ("Model", registration.plan.model),
        ("Provider", _provider(registration)),
        ("Isolation", registration.isolation.level),
    ]  # fmt: skip
    columns = (Column("What"), Column("As registered"))
    return Table("What was sealed", columns, tuple(rows))


def next_steps(run: str, parts: Page | None = None) -> Shown:
    """What to do with a run that is sealed or carried out."""
    said = Prose(
        (
            f"The report: `evalkit report {run}`, or the notebook report with "
            f'run = "{run}".',
            f"To go on where it stopped: `evalkit run {run}`, or the notebook run.",
        )
    )
    return Page((*parts.parts, said)) if parts else said


def _paid(outline: Outline) -> list[tuple[str, str]]:
    """Who is paid, and how much that may be, before anything is."""
    found = outline.estimate
    if found is None:
        return [("May cost", "nothing: it calls no model")]
    dollars = NOT_REPORTED
    if found.usd_least is not None and found.usd_most is not None:
        dollars = f"{usd(found.usd_least)} to {usd(found.usd_most)}"
    tokens = f"{count(found.n_tokens_least)} to {count(found.n_tokens_most)} tokens"
    return [
        ("Provider", f"{outline.provider}, access {outline.access}"),
        ("May cost", f"{dollars}, {tokens} ({found.basis})"),
    ]


def _proven(root: Path, case: str) -> str:
    proof = reference.load_proof(root, corpus.load_case(root, case))
    overlays = {row.overlay for row in proof.rows}
    wrong = sum(overlay.startswith(("wrong-", "naive")) for overlay in overlays)
    return f"{n_of(len(overlays), 'delivery', 'deliveries')}, {wrong} of them wrong"


def _provider(registration: Registration) -> str:
    agent = registration.agent
    if agent.provider is None:
        return "none: it calls no model"
    return f"{agent.provider}, access {agent.access}"


def _bytes(least: int, most: int) -> str:
    if most == 0:
        return "0"
    return count(most) if least == most else f"{count(least)} to {count(most)}"


def _limit(n_cases: int, found: Foresight) -> str:
    """The two questions, and which of them this many cases can answer."""
    least = found.planned[0].p_least
    these = (
        f"About these {n_of(n_cases, 'case')}: the least p a comparison can reach is "
        f"{least:.2g}."
    )
    if found.beyond:
        return f"{these} About cases like these: {n_cases} cases allow a test."
    return (
        f"{these} About cases like these: nothing. A test over cases needs at least "
        f"{stats.MIN_CASES}, and no number of repeats makes up for it."
    )
