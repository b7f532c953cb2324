"""Secrets are taken out of what is exported, and little else is."""

import json
import time
from pathlib import Path

import pytest

from evalkit.explore.article import Renderer
from evalkit.explore.index import Transcript
from evalkit.explore.redaction import OVERLAP, Redactor, find_secrets, secrets_of
from evalkit.explore.telling import LINE_SEEN, MAX_NAME, Teller

REAL = Path(__file__).parent / "data" / "transcripts"
BODY = "MIIEpAIBAAKCAQEA7bq0d2Vt0m3pQWxvZ2l0eSBpcyBub3QgYSBjcmltZQ=="
PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *[BODY] * 5, "-----END RSA PRIVATE KEY-----"]
)
ANTHROPIC = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789-xyzAA"
JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4i"
    "fQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)
STRIPE = "sk_" + "live_51H8abcdefghijklmnopqrstuvw"
SECRETS = [
    ("AKIAIOSFODNN7EXAMPL2", "AKIAIOSFODNN7EXAMPL2"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123"),
    ("github_pat_11ABCDEFG0123456789abc_def", "11ABCDEFG"),
    (f"key {ANTHROPIC}.", "api03"),
    ("sk-canary-0f1e2d3c4b5a", "canary-0f1e"),
    ("glpat-abcdefghij0123456789", "abcdefghij"),
    (STRIPE, "51H8abcdefghijklmnopqrstuvw"),
    (JWT, "SflKxwRJ"),
    ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    ('curl -H "x-api-key: abc123def456"', "abc123def456"),
    ("postgres://user:hunter2pw@db.example/x", "hunter2pw"),
    ("export DB_PASSWORD=hunter2secret", "hunter2secret"),
    ("     3\N{RIGHTWARDS ARROW}DB_PASSWORD=hunter2secret", "hunter2secret"),
    ("password: hunter2abc", "hunter2abc"),
    ('{"password": "correct horse", "secret": "battery staple"}', "battery staple"),
    ('{"password": "correct horse", "secret": "battery staple"}', "correct horse"),
    (PEM, BODY),
    (PEM.replace("\n", "\\n"), BODY),
    (PEM[: len(PEM) // 2], BODY),
    (PEM[len(PEM) // 2 :], BODY),
    ("evalkit-canary-00112233445566778899aabbccddeeff", "00112233"),
    ("(evalkit-x4Uo_8fX-2k7Zb1cQmWn0pLsT9vYh3gRd6jAeNiKBCD)", "x4Uo_8fX"),
]
HARMLESS = [
    "secret_key = os.environ['SECRET']",
    "password = get_password()",
    "PASSWORD=$DB_PASS",
    "MAX_TOKENS=100000",
    "max_tokens: 4096",
    "commit 8c12f5a0b9d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5",
    "session_id: 4f2c1a9e-1111-2222-3333-444455556666",
    "sha512-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf01==",
    "--- PASS: TestLogging_ContextSessionID_WhenNoGlobalSet (0.00s)",
    "listening on 203.0.113.7:8080",
    "the password must have twelve characters",
    "evalkit-the-folder-of-all-that-we-have-found-out-by-now",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_replaced_by_its_kind(text, secret):
    redactor = Redactor()
    told = redactor(text)
    assert secret not in told
    assert "[redacted: " in told
    assert sum(redactor.counts.values()) >= 1


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    assert Redactor()(text) == text


def test_what_stands_around_a_secret_stays():
    assert Redactor()("a DB_PASSWORD=hunter2secret b") == (
        "a DB_PASSWORD=[redacted: Secret Setting] b"
    )


def test_colours_inside_a_secret_do_not_hide_it():
    coloured = f"{ANTHROPIC[:12]}\x1b[31m{ANTHROPIC[12:30]}\x1b[0m{ANTHROPIC[30:]}"
    told = Redactor()(f"<{coloured}>")
    assert told == "<[redacted: Model Provider Key]\x1b[31m\x1b[0m>"


def test_a_known_secret_is_taken_out_wherever_it_stands():
    redactor = Redactor(["correct-horse"])
    assert redactor("say correct-horsecorrect-horse") == (
        "say [redacted: Known Secret][redacted: Known Secret]"
    )
    assert redactor.counts == {"Known Secret": 2}


def test_the_secrets_of_an_environment_go_by_their_names():
    environment = {"A_TOKEN": "0123456789", "PWD": "/some/where", "HOME": "/nowhere"}
    assert secrets_of({**environment, "B_KEY": "short"}) == ["0123456789"]


def test_a_switch_shows_all():
    redactor = Redactor(on=False)
    assert redactor(ANTHROPIC) == ANTHROPIC
    assert not redactor.counts


@pytest.mark.parametrize("n", range(0, 20, 3))
def test_a_secret_across_a_cut_is_not_told_in_halves(n):
    """The cuts are at 80 characters from the start, and at 20 from the end."""
    for text in (
        "x" * (59 + n) + f" {ANTHROPIC} " + "y" * 500,
        "y" * 500 + f" {ANTHROPIC} " + "x" * n,
    ):
        told = Teller(Redactor(), max_chars=100)(text)
        assert ANTHROPIC[4:12] not in told
        assert ANTHROPIC[-8:] not in told


KNOWN = "correct horse battery staple with a tail"


@pytest.mark.parametrize("n", range(0, len(KNOWN), 5))
def test_no_cut_tells_a_part_of_a_known_secret(n):
    """What is redacted before a cut, and shorter then, moves nothing across it."""
    keys = f"{ANTHROPIC * 9} "
    tell = Teller(Redactor([KNOWN]), max_chars=1000)
    before = "y" * (800 + OVERLAP - len(keys) - n)
    after = "y" * (200 + OVERLAP - len(keys) - len(KNOWN) + n)
    told = [
        tell.name("x" * (MAX_NAME - n - 1) + f" {KNOWN}"),
        tell.line(keys + "x" * (LINE_SEEN - len(keys) - n - 1) + f" {KNOWN}"),
        tell(f"{keys}{before}{KNOWN}" + "z" * 3000),
        tell("z" * 3000 + f"{KNOWN}{after} {keys}"),
    ]
    for text in told:
        assert KNOWN[:5] not in text
        assert KNOWN[-5:] not in text


def test_a_line_as_it_stands_is_cut_and_says_so(tmp_path):
    """It is a row of no known type, so all of it is shown, as far as there is room."""
    row = {"type": "odd", "sessionId": "s", "x": "y" * 1540 + f" {KNOWN} " + "z" * 3000}
    path = tmp_path / "s.jsonl"
    asked = {"type": "user", "sessionId": "s", "message": {"content": "x"}}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (asked, row)))
    *_, item = _items(path)
    tell = Teller(Redactor([KNOWN]))
    made = Renderer(tell).article(item).html
    assert "[redacted: Known Secret]" in made
    assert KNOWN[:5] not in made
    assert "characters are left out here" in made
    assert tell.n_cut == 1


def test_a_token_longer_than_what_is_looked_at_together_is_taken_out_whole():
    token = f"{JWT[:40]}{'Ab3' * 4000}.{'cD4' * 3000}.{'eF5' * 20}"
    assert Redactor()(f"token {token} end") == "token [redacted: JSON Web Token] end"


def test_what_is_cut_is_told_in_place():
    tell = Teller(Redactor(), max_chars=100)
    told = tell("a" * 80 + "b" * 900 + "c" * 20)
    assert told.startswith("a" * 80 + "\n[cut: 900 of 1,000 characters")
    assert told.endswith("]\n" + "c" * 20)
    assert tell.n_cut == 1


def test_little_is_taken_out_of_real_sessions_that_hold_no_secret():
    """Their publishers took them out; what is left is a key of a development server."""
    taken = [
        item.text[span.start : span.end]
        for path in sorted(REAL.glob("*.jsonl"))
        for item in _items(path)
        for span in find_secrets(item.text)
    ]
    assert taken == ["phc_development_key"] * 3


def _items(path):
    transcript = Transcript(path)
    return transcript.items(0, len(transcript))


HOSTILE = {
    "words": "password" * 6000,
    "addresses": "://a:" * 10_000,
    "assignments": "api_key=" * 6000,
    "keys": "-----BEGIN PRIVATE KEY-----" * 1800,
    "bodies": "-----END PRIVATE KEY-----" + ("A" * 20 + "\n") * 2400,
    "blanks": "secret" + " " * 50_000,
    "quotes": "'a" * 25_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_holds_the_detectors_up(name):
    begun = time.monotonic()
    find_secrets(HOSTILE[name])
    assert time.monotonic() - begun < 20
