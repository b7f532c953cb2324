"""Usage and prices: whom to believe, and what a request costs."""

from decimal import Decimal
from importlib import resources

import genai_prices
import msgspec
import pytest

from evalkit import usage
from evalkit.errors import InputError
from evalkit.records import Plan, Request

RATES = usage.parse_rates(
    resources.files("evalkit").joinpath("data", "prices.toml").read_bytes()
)
REQUEST = Request(0, "claude-opus-5-5", 30, 9_730, 400, 18_420, 131, "session")


def _by(source: str, **changes: object) -> Request:
    return msgspec.structs.replace(REQUEST, source=source, **changes)


def _of(model: str, **changes: object) -> Request:
    return msgspec.structs.replace(REQUEST, model=model, **changes)


# --- settle -------------------------------------------------------------------


def test_the_first_witness_that_says_anything_is_believed():
    gateway, session = (_by("gateway"),), (_by("session"),)
    assert usage.settle([gateway, session]).requests == gateway
    assert usage.settle([(), session, gateway]).requests == session


def test_witnesses_that_agree_in_sum_do_not_disagree():
    halves = (_by("session", output=100), _by("session", output=31))
    rest = dict.fromkeys(usage.CLASSES[:4], 0)
    split = (halves[0], msgspec.structs.replace(halves[1], **rest))
    totals = (_by("modelUsage", n_requests=None),)
    assert usage.settle([split, totals]) == (split, None)


def test_a_disagreement_names_class_counts_and_reporters():
    others = [(_by("modelUsage", output=172),), (_by("usage", read=0),)]
    assert usage.settle([(_by("session"),), *others]).disagreement == (
        "output: 131 by session, 172 by modelUsage; read: 18,420 by session, 0 by usage"
    )


def test_no_witness_is_no_request():
    assert usage.settle([(), ()]) == ((), None)


# --- prices -------------------------------------------------------------------


def _elsewhere(request: Request) -> Decimal:
    counts = genai_prices.Usage(
        input_tokens=request.input + request.write_5m + request.write_1h + request.read,
        cache_write_tokens=request.write_5m + request.write_1h,
        cache_write_1h_tokens=request.write_1h,
        cache_read_tokens=request.read,
        output_tokens=request.output,
    )
    found = genai_prices.calc_price(counts, request.model, provider_id="anthropic")
    return found.total_price


@pytest.mark.parametrize("n_read", [0, 18_420, 90_000, 170_000, 250_000])
@pytest.mark.parametrize("model", RATES.models)
def test_every_model_is_priced_as_genai_prices_does(model, n_read):
    request = _of(model, read=n_read)
    assert usage.price(request, RATES) == pytest.approx(
        float(_elsewhere(request)), rel=1e-12
    )


def test_the_models_to_hold_are_held():
    wanted = [
        "opus-5-5",
        "opus-4-8",
        "opus-4-1",
        "sonnet-4-5",
        "haiku-5-5",
        "fable-5-2",
    ]
    assert {f"claude-{name}" for name in wanted} <= set(RATES.models)


def test_every_row_names_its_source_and_day():
    rows = [*RATES.models.values(), *RATES.conventions.values()]
    assert all(row.source and row.date.year >= 2026 for row in rows)


def test_a_tier_prices_the_whole_request_above_its_threshold():
    """A flat rate would say 0.0056 for the larger one."""
    small = Request(0, "claude-haiku-5-5", 0, 0, 0, 100_000, 0, "session")
    large = msgspec.structs.replace(small, read=100_001)
    assert usage.price(small, RATES) == pytest.approx(0.001)
    assert usage.price(large, RATES) == pytest.approx(0.00500005)


def test_totals_above_a_tier_have_no_known_price():
    totals = _of("claude-haiku-5-5", read=170_000, n_requests=None)
    assert usage.price(totals, RATES) is None
    below = msgspec.structs.replace(totals, read=20_000)
    assert usage.price(below, RATES) is not None


def test_the_convention_prices_every_model_alike_and_writes_as_fresh_input():
    name = Plan("any").accounting
    for model in ("claude-opus-5-5", "claude-haiku-5-5", "some-other-model"):
        found = usage.price(_of(model, read=200_000), RATES, accounting=name)
        assert found == pytest.approx(
            ((30 + 9_730 + 400) * 15 + 200_000 * 1.5 + 131 * 75) / 1e6
        )


def test_an_unknown_model_has_no_price():
    assert usage.price(_of("claude-opus-99"), RATES) is None


def test_a_dated_model_name_has_the_price_of_its_model():
    dated = _of("claude-opus-4-1-20250805")
    assert usage.price(dated, RATES) == usage.price(_of("claude-opus-4-1"), RATES)


def test_an_unknown_accounting_is_refused():
    with pytest.raises(InputError, match="opus-list-15"):
        usage.price(REQUEST, RATES, accounting="cheap")


@pytest.mark.parametrize(
    "text",
    ["[models.x]\ninput = 1.0", "models = 3", "[models", "\xff", "[modles.x]"],
)
def test_a_wrong_price_file_is_refused_with_its_place(text):
    with pytest.raises(InputError, match=r"own\.toml"):
        usage.parse_rates(text.encode("latin-1"), "own.toml")
