"""How selection probes were answered, apart from trials."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Accuracy, Analysis, Probed
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table
from evalkit.tables import choices

_WHO = "Who answered"
_RESOLVED = (
    "Where a probe accepts several skills, one counts as called for: the one picked, "
    "else the best among the candidates. The ceiling counts the probes whose "
    "candidates let a choice be right."
)
_RANKED = (
    "The ranking alone picks only what it admits at once, and misses what a model would "
    "have been asked about: its row shows what routing gets without a model, and its "
    "ceiling what a model could make of it."
)


def probes(analysis: Analysis) -> Shown:
    """How probes of the run's library were answered, or that nobody asked them."""
    if not analysis.probed:
        said = analysis.probed_refusal or "Nobody looked for answers to probes."
        return Page((Prose((said,)), *_unlike(analysis)))
    rows: dict[str, Accuracy] = {_who(analysis, row): row for row in analysis.probed}
    asked = any(row.asked for row in analysis.probed)
    how = (
        ""
        if asked
        else f" No model was asked; `evalkit route --probes --ask {analysis.run}` does "
        f"that, if the agent can choose without tools."
    )
    offline = "" if all(row.asked for row in analysis.probed) else _RANKED + how
    return Page(
        (
            choices.chosen(
                "What was chosen for probes", _WHO, rows, note=f"{_RESOLVED} {offline}"
            ),
            choices.overlaps("Candidates and picks for probes", _WHO, rows),
            *(_details(_who(analysis, row), row) for row in analysis.probed),
            _files(analysis),
            *_unlike(analysis),
        )
    )


def _who(analysis: Analysis, row: Probed) -> str:
    """Who answered; with the file, where the same was asked more than once."""
    stamp = "SIMULATED: " if row.simulated else ""
    who = f"{stamp}{analysis.seals.model}" if row.asked else "the ranking alone"
    again = sum(one.asked == row.asked for one in analysis.probed) > 1
    return f"{who}, {row.file}" if again else who


def _details(who: str, row: Probed) -> Fold:
    """By category, by skill, and which skill was taken for which."""
    caption = f"Called for (rows) and picked (columns) for probes, by {who}"
    parts = (
        _categories(who, row),
        choices.matrix(caption, row),
        choices.skills(f"Each skill of the probes, by {who}", row),
    )
    return Fold(f"Probes by kind, and skill by skill: {who}", parts)


def _categories(who: str, row: Probed) -> Table:
    rows = [
        (
            one.category,
            wording.k_of_n(one.right),
            choices.interval(one.right),
            *map(wording.k_of_n, (one.first, one.held, one.precise, one.spared)),
            wording.count(one.n_failed),
        )
        for one in row.categories
    ]
    heads = (
        "Right", "Wilson interval", "Right one ranked best", "Among the candidates",
        "Picked, and rightly", "Spared", "Unreadable answer",
    )  # fmt: skip
    return Table(
        f"Probes by kind, {who}",
        (Column("Kind"), *(Column(head, number=True) for head in heads)),
        tuple(rows),
        note="Right: of all probes of a kind. Best ranked and among the candidates: of "
        "those that need a skill. Spared: of those that need none, the ones that got "
        "none and cost no call.",
    )


def _files(analysis: Analysis) -> Table:
    """Where the answers stand, and what ties them to this run."""
    rows = [
        (
            row.file,
            wording.short(row.sha256),
            row.at,
            f"{row.library} {wording.short(row.library_digest)}",
            wording.count(row.n_calls),
            "the same" if row.same_source else "another version",
        )
        for row in analysis.probed
    ]
    heads = (
        "File below runs/", "sha256", "Answered", "Library", "Calls",
        "Code of routing",
    )  # fmt: skip
    columns = tuple(Column(head, number=head == "Calls") for head in heads)
    return Table(
        "Where the answers to probes stand",
        columns,
        tuple(rows),
        note="Skills, phrases and settings of routing are those that this run was sealed "
        "with; so are agent and model, where a model was asked. Code of routing: that "
        "which the run was sealed with, or another version of evalkit's.",
    )


def _unlike(analysis: Analysis) -> tuple[Table, ...]:
    """Answers that are kept here and are not of this run; their numbers stay out."""
    rows = tuple((row.file, row.why) for row in analysis.probed_unlike)
    columns = (Column("File below runs/"), Column("Why"))
    return (Table("Answers that are not of this run", columns, rows),) if rows else ()
