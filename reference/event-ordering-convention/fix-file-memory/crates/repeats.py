"""The broker may send an event more than once."""

import sqlite3
from contextlib import closing
from typing import Any

FILE = "repeats.sqlite3"


def _ask(statement: str, who: str, event: dict[str, Any]) -> list[Any]:
    with closing(sqlite3.connect(FILE, timeout=30)) as file, file:
        file.execute("CREATE TABLE IF NOT EXISTS done (who TEXT, id TEXT, PRIMARY KEY (who, id))")
        return file.execute(statement, (who, event["id"])).fetchall()


def is_done(who: str, event: dict[str, Any]) -> bool:
    return bool(_ask("SELECT 1 FROM done WHERE who = ? AND id = ?", who, event))


def done(who: str, event: dict[str, Any]) -> None:
    _ask("INSERT OR IGNORE INTO done VALUES (?, ?)", who, event)
