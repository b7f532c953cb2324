"""The parameters of a request."""

from urllib.parse import parse_qs

from eventstats.stats import Query


def parse_query(text: str) -> Query:
    """The query that a URL's query string asks.

    Raises:
        ValueError: It makes no sense; the text says why.
    """
    given = {name: values[0] for name, values in parse_qs(text).items()}
    start, end = to_number(given, "from"), to_number(given, "to")
    if start is not None and end is not None and start > end:
        raise ValueError("from is later than to")
    return Query(given.get("type"), start, end)


def to_number(given: dict[str, str], name: str) -> int | None:
    """A bound of the window, if there is one."""
    if name not in given:
        return None
    try:
        return int(given[name])
    except ValueError:
        raise ValueError(f"{name} is not a whole number") from None
