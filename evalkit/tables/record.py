"""What the numbers rest on: departures from the plan, digests, limits."""

from __future__ import annotations

import re
from collections import Counter

from evalkit import wording
from evalkit.conclusions import Analysis
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table
from evalkit.tables import conduct

COMPLETE = "complete"
MAX_OPEN = 5
"""Rows of a list that stand open; a longer one is folded."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def fragility(analysis: Analysis) -> Page:
    """Departures from the plan, second verdicts, and how whole usage is."""
    departures = [
        (
            row.what,
            _brief(row.registered),
            _brief(row.found),
            row.at or "found on analysis",
        )
        for row in analysis.deviations
    ]
    return Page(
        (
            Table(
                "Departures from the plan",
                tuple(map(Column, ("What", "Registered", "Found", "When"))),
                tuple(departures),
                empty="none.",
            ),
            _regrades(analysis),
            _usage(analysis),
            _disagreements(analysis),
        )
    )


def seals(analysis: Analysis) -> Page:
    """Digests and versions that tie the numbers to their inputs."""
    found = analysis.seals
    same = found.analysis_source == found.analysis_source_found
    rows = (
        ("Run", analysis.run),
        ("Registration", f"{found.registration}, sealed at {found.created_at}"),
        ("Journal head", f"{found.journal_head}, after {found.n_events} events"),
        ("Corpus", f"{found.corpus}, {found.corpus_digest}"),
        (
            "Agent",
            f"{wording.agent(found.agent, found.agent_version)}, {found.executable_sha256}",
        ),
        ("Model", conduct.model(analysis)),
        ("Provider", conduct.provider(analysis)),
        ("Access", found.access.value if found.access else conduct.NO_MODEL),
        ("Source of the run", found.run_source),
        (
            "Source of the analysis",
            found.analysis_source_found
            if same
            else f"registered {found.analysis_source}, found "
            f"{found.analysis_source_found}",
        ),
        ("Rates", f"{found.rates}, accounting {found.accounting}"),
        (
            "Isolation",
            f"registered {found.isolation} ({found.isolation_detail}), found "
            f"{wording.listed(found.isolation_found)}",
        ),
        ("Seed", str(found.seed)),
        ("Imbalance of the order", str(analysis.design.imbalance)),
        ("Run ended", analysis.integrity.ended or "not ended"),
    )
    columns = (Column("What"), Column("Found"))
    more = (
        Table("Graders", columns, tuple(sorted(found.grader_digests.items()))),
        Table("Packages", columns, tuple(sorted(found.environment.items()))),
    )
    return Page(
        (
            Table("What the numbers rest on", columns, rows),
            Fold("Digests of graders, versions of packages", more),
        )
    )


def limits(analysis: Analysis) -> Prose:
    """What this run cannot say."""
    return Prose(analysis.limits or ("No limits were recorded.",))


def _brief(text: str) -> str:
    """A digest by its first characters; any other text as it is."""
    return f"{wording.short(text)}..." if _DIGEST.fullmatch(text) else text


def _regrades(analysis: Analysis) -> Table:
    """What came out otherwise when the same evidence was graded again."""
    rows = [
        (
            f"{row.trial}, attempt {row.attempt}",
            f"{found.step} {found.what}".strip(),
            found.first,
            found.again,
            f"{wording.score(row.score_before)}, then {wording.score(row.score_after)}",
            row.how,
            found.reason,
        )
        for row in analysis.regrades
        for found in row.differences
    ]
    ways = Counter(row.how for row in analysis.regrades)
    n_other = sum(bool(row.differences) for row in analysis.regrades)
    told = (
        f"{len(analysis.regrades)} verdicts were given again "
        f"({wording.listed(f'{n} {how}' for how, n in sorted(ways.items()))}), "
        f"{n_other or 'none'} of them otherwise. The first verdicts count."
    )
    never = "no verdict was given again; `evalkit regrade` does that."
    heads = ("Trial", "What", "First verdict", "Given again", "Score", "How", "Reason")
    return Table(
        "Verdicts given again",
        tuple(map(Column, heads)),
        tuple(rows),
        note=told if rows else "",
        empty=told if analysis.regrades else never,
    )


def _usage(analysis: Analysis) -> Table:
    rows = [
        (
            row.arm,
            wording.k_of(row.n_reported, row.n_trials),
            wording.k_of(row.n_priced, row.n_trials),
            wording.count(row.n_disagreements),
            wording.listed(
                f"{n} {name}" for name, n in row.statuses.items() if name != COMPLETE
            ),
            "nobody looked"
            if row.n_unknown_requests is None
            else wording.count(row.n_unknown_requests),
            wording.listed(f"{name} ({n})" for name, n in row.sources.items()),
        )
        for row in analysis.usage
    ]
    heads = (
        "Trials that report usage",
        "Trials with a price",
        "Steps on which reporters disagree",
        "Requests not complete",
        "Requests of unknown usage",
    )
    return Table(
        "How whole the usage is",
        (
            Column("Arm"),
            *(Column(head, number=True) for head in heads),
            Column("Reported by (requests)"),
        ),
        tuple(rows),
        note="Of a request that is not complete, the tokens told until then are counted; "
        "one of unknown usage counts nothing, so that sums are lower bounds.",
    )


def _disagreements(analysis: Analysis) -> Shown:
    """What each reporter counted, where they differ."""
    rows = [(f"{row.trial}, {row.step}", row.what) for row in analysis.disagreements]
    table = Table(
        "Steps on whose usage reporters differ",
        (Column("Step"), Column("What each counted; the first named is believed")),
        tuple(rows),
        empty="none.",
    )
    if len(rows) <= MAX_OPEN:
        return table
    return Fold(f"{len(rows)} steps on whose usage reporters differ", (table,))
