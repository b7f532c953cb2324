"""A recorded run played again: its agent for real, its model from the recording.

A replay is a run of its own, sealed on the recorded one: the agent's own executable
works in the sandbox, each request gets the answer that was recorded for it, and the
graders of now question what comes out. It needs no credential, connects to nothing,
spends nothing and measures nothing anew. Where a request is none of those recorded,
the place that differs is named, and the call fails. The time that the model took is
not waited for; that of commands which the agent runs passes as always.

    sealing    what a replay is sealed on, with all recordings checked
    against    its results, held against the recorded ones
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from evalkit import tapes
from evalkit.errors import InputError
from evalkit.journal import read_journal
from evalkit.records import Deviation, Record, Registration, ReplaySeal
from evalkit.registration import FILE, drift, load_registration, write_registration
from evalkit.replay.against import (
    AttemptPlayed,
    Otherwise,
    compare_runs,
    exchanges_of,
    hold,
)
from evalkit.replay.sealing import draft, seal_of
from evalkit.run import open_journal, run_plan
from evalkit.standing import JOURNAL, Status, results_of, status
from evalkit.wording import n_of

__all__ = ["AttemptPlayed", "Otherwise", "Replay", "Varied", "replay"]


class Varied(Record, frozen=True):
    """What requests differed in and were taken for the same, in how many, and why."""

    name: str
    why: str
    n_requests: int


class Replay(Record, frozen=True):
    """What a replay came to.

    `moved` tells what is here otherwise than it was registered, `analysis` which
    numbers of the whole run came out otherwise; None where not all of it was played.
    """

    run: str
    replay: str
    status: Status
    moved: tuple[str, ...]
    varied: tuple[Varied, ...]
    attempts: tuple[AttemptPlayed, ...]
    analysis: tuple[Otherwise, ...] | None

    @property
    def differs(self) -> bool:
        """True where anything came out otherwise than it was recorded."""
        return any(one.differs for one in self.attempts) or bool(self.analysis)


def replay(
    run: Path,
    root: Path,
    *,
    trials: Sequence[str] = (),
    out: Path | None = None,
    n_workers: int = 1,
    now: Callable[[], str],
    progress: Callable[[Status], None] | None = None,
) -> Replay:
    """Play a recorded run again, or what is left of that, and hold it against itself.

    Args:
        run: The recorded run; nothing in it is written.
        root: Root with cases and graders, whose `runs/` holds the run.
        trials: Those to play, as `case.arm.rN`; none is all that were recorded.
        out: Folder of the replay; None is `<run>-replay` beside the run.
        n_workers: Trials at once, within a block.
        now: Gives the time of an event as ISO text.
        progress: Told where the replay stands after each trial.

    Raises:
        InputError: Nothing was recorded, or a recording was edited, cut or lost; or
            `out` holds something else.
        EvalkitError: As `run_plan` does; replay again to go on.
    """
    recorded = load_registration(run)
    folder = out or root / "runs" / f"{run.resolve().name}-replay"
    begun = load_registration(folder) if (folder / FILE).is_file() else None
    if begun or (folder.is_dir() and any(folder.iterdir())):
        _refuse_another(folder, begun, recorded, trials)
    wanted = tuple(begun.replay.attempts) if begun and begun.replay else trials
    seal = seal_of(run, root, recorded, wanted)
    sealed = begun or draft(recorded, seal, root, now=now)
    if not begun:
        write_registration(root, sealed, folder)
    moved = tuple(drift(recorded, sealed))
    run_plan(folder, root, n_workers=n_workers, progress=progress, now=now)
    attempts = hold(run, folder, seal)
    whole = _is_whole(run, seal)
    found = Replay(
        run=run.resolve().name,
        replay=folder.name,
        status=status(folder),
        moved=moved,
        varied=_varied(folder),
        attempts=attempts,
        analysis=compare_runs(run, folder, seal) if whole else None,
    )
    _journal(folder, _deviations(found), now)
    return found


def _refuse_another(
    folder: Path,
    sealed: Registration | None,
    recorded: Registration,
    trials: Iterable[str],
) -> None:
    """Refuse to go on with what is no replay of these trials of this run."""
    seal = sealed.replay if sealed else None
    wanted = set(trials)
    if (
        seal is None
        or seal.registration != recorded.digest
        or (wanted and wanted != seal.attempts.keys())
    ):
        what = f"a replay of {', '.join(seal.attempts)}" if seal else "no replay"
        raise InputError(
            folder,
            expected="a replay of the same trials of the same run, or nothing",
            found=what,
            cure="name another folder with --out",
        )


def _is_whole(run: Path, seal: ReplaySeal) -> bool:
    """True where every trial that ended is played."""
    events = read_journal(run / JOURNAL, until=seal.journal_head).events
    return {str(result.key) for result in results_of(events)} == seal.attempts.keys()


def _varied(folder: Path) -> tuple[Varied, ...]:
    """What requests of a replay were allowed to differ in, and did."""
    found: Counter[str] = Counter()
    for result in results_of(read_journal(folder / JOURNAL).events):
        for _, rows in exchanges_of(folder, result.key, result.attempt):
            found.update(name for row in rows for name in row.varied)
    whys = {rule.name: rule.why for rule in tapes.rules()}
    return tuple(Varied(name, whys[name], n) for name, n in found.items())


def _journal(folder: Path, found: Iterable[Deviation], now: Callable[[], str]) -> None:
    """Say in the replay's own record what its report has to tell, once."""
    with open_journal(folder, now) as journal:
        for deviation in found:
            journal.note(deviation)


def _deviations(found: Replay) -> Iterator[Deviation]:
    for line in found.moved:
        yield Deviation("inputs of the recorded run", "as recorded", line)
    for one in found.varied:
        what = f"{one.name}, in {n_of(one.n_requests, 'request')}"
        yield Deviation(what, "as recorded", f"taken for the same: {one.why}")
    for played in found.attempts:
        where = f"{played.trial}, attempt {played.attempt}"
        if played.played is None:
            yield Deviation(where, "as recorded", "not played")
        for gone in played.departures:
            what = f"{where}, {gone.call}, request {gone.request}"
            yield Deviation(what, "as recorded", gone.how)
        for other in played.differences:
            what = " ".join(filter(None, (f"{where}:", other.step, other.what)))
            yield Deviation(what, other.first, other.again)
    for one in found.analysis or ():
        yield Deviation(one.what, one.recorded, one.replayed)
