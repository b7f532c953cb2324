"""SQL."""

import sqlite3
from contextlib import closing
from urllib.parse import quote

LOCK_WAIT_S = 0.2


class RepositoryError(Exception):
    """A statement did not run."""


class RepositoryUnavailable(RepositoryError):
    """The database could not be opened, or stayed locked."""

    status = 503
    code = "unavailable"


def depot(database, code):
    rows = select(database, "SELECT code, name FROM depot WHERE code = ?", code)
    return rows[0] if rows else None


def parcel(database, number):
    statement = "SELECT number, weight_g FROM parcel WHERE number = ?"
    rows = select(database, statement, number)
    return rows[0] if rows else None


def scans(database, number):
    return select(database, "SELECT depot, at FROM scan WHERE number = ?", number)


def select(database, statement, *values):
    """All rows as dicts; never creates the file."""
    uri = f"file:{quote(database)}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_WAIT_S)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(statement, values)]
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        away = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY)
        kind = RepositoryUnavailable if away else RepositoryError
        raise kind(f"{error}: {statement}") from error
