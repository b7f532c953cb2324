"""journal: nothing is lost, an edit is seen, one writer."""

import pytest

from evalkit.errors import InputError, RunLockedError
from evalkit.journal import GENESIS, Writer, read_journal
from evalkit.records import AttemptStarted, Deviation, RunEnded, TrialKey


def _now():
    return "2026-01-01T00:00:00.000+00:00"


def _fill(path, n=3):
    with Writer(path, now=_now) as journal:
        for repeat in range(1, n + 1):
            journal.append(AttemptStarted(TrialKey("case", "arm", repeat), 1))
        return journal.head


def test_what_was_appended_is_read_back_in_a_chain(tmp_path):
    path = tmp_path / "journal.jsonl"
    head = _fill(path)
    found = read_journal(path)
    assert [event.n for event in found.events] == [1, 2, 3]
    assert found.events[0].previous == GENESIS
    assert (found.head, found.torn) == (head, False)


def test_a_missing_journal_is_empty(tmp_path):
    assert read_journal(tmp_path / "none").events == ()


def test_cutting_the_last_line_anywhere_loses_that_line_alone(tmp_path):
    path = tmp_path / "journal.jsonl"
    _fill(path)
    data = path.read_bytes()
    start = data[:-1].rfind(b"\n") + 1
    for cut in range(start, len(data)):
        path.write_bytes(data[:cut])
        found = read_journal(path)
        assert len(found.events) == 2
        assert found.torn == (cut > start)
        with Writer(path, now=_now) as journal:
            journal.append(RunEnded("again"))
        assert [event.n for event in read_journal(path).events] == [1, 2, 3]


@pytest.mark.parametrize("line", [1, 2])
def test_an_edited_line_is_named(tmp_path, line):
    path = tmp_path / "journal.jsonl"
    _fill(path)
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b'"repeat":', b'"repeat":1')
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=f"line {line + 1}"):
        read_journal(path)


def test_a_line_that_is_no_event_is_named_and_nothing_is_changed(tmp_path):
    path = tmp_path / "journal.jsonl"
    _fill(path)
    path.write_bytes(path.read_bytes() + b'{"n": 4}\n')
    before = path.read_bytes()
    with pytest.raises(InputError, match="line 4"):
        Writer(path, now=_now)
    assert path.read_bytes() == before


def test_a_removed_line_breaks_the_chain(tmp_path):
    path = tmp_path / "journal.jsonl"
    _fill(path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    with pytest.raises(InputError, match="line 2"):
        read_journal(path)


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Writer(path, now=_now), pytest.raises(RunLockedError, match="no other"):
        Writer(path, now=_now)
    with Writer(path, now=_now) as journal:
        assert journal.stood == ()


def test_a_deviation_is_written_once_also_by_a_later_writer(tmp_path):
    path = tmp_path / "journal.jsonl"
    one, other = (Deviation("clock", "as planned", how) for how in ("ahead", "behind"))
    for _ in range(2):
        with Writer(path, now=_now) as journal:
            for deviation in (one, one, other):
                journal.note(deviation)
    assert [event.body for event in read_journal(path).events] == [one, other]
