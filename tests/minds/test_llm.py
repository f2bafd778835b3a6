"""How a language model is asked for a choice: in the time of its turn, in virtual time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from league.features.minds.asked.chat import ChatCompletions, NoReply, ProviderReply
from league.features.minds.asking import AskingPlayer, Time
from league.features.minds.conversations import digest_of
from league.features.minds.prompts import Prompt
from league.features.minds.spending import Budget
from league.player.strategies import Considered, NoChoice, Turn
from league.protocol.message.experiment import Provenance
from tests.support.language_models import completion

REFUSED = NoReply("the connection was refused")
LIMITED = ProviderReply(429, b'{"error": {"message": "slow down"}}', 3.0)


def says(text: str | None, tokens: int | None = 12) -> ProviderReply:
    return ProviderReply(200, json.dumps(completion(text, tokens).body).encode())


Answer = ProviderReply | NoReply
Timed = tuple[float, Answer]


class Script:
    """A provider that gives these answers, one after the other and the last for ever; a pair begins with the seconds it
    takes."""

    def __init__(self, *answers: Answer | Timed) -> None:
        self.answers: list[Timed] = [(0.0, one) if isinstance(one, ProviderReply | NoReply) else one for one in answers]
        self.t = 1000.0
        self.asked_at: list[float] = []
        self.bodies: list[dict[str, Any]] = []

    async def post(self, body: bytes, seconds: float) -> Answer:
        assert seconds > 0
        self.asked_at.append(self.t - 1000.0)
        self.bodies.append(json.loads(body))
        takes, answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.t += min(takes, seconds)
        return answer if takes < seconds else NoReply("no answer in time", is_late=True)

    async def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.t += seconds

    def model(self, cap: int | None = None, temperature: float | None = None, **changed: Any) -> AskingPlayer:
        known: dict[str, Any] = {"prompt": Prompt(), "corrections": 2, **changed}
        return AskingPlayer(
            ChatCompletions("m", "here", self.post, temperature),
            time=Time(lambda: self.t, self.sleep),
            rules=lambda _: "Be lucky.",
            budget=Budget(max_tokens=cap),
            **known,
        )


def turn(**changed: Any) -> Turn:
    return Turn("even_odd", "R1M1", "P02", changed.pop("options", ("even", "odd")), b"\x01" * 32, **changed)


def chosen(script: Script, model: AskingPlayer | None = None, **changed: Any) -> Considered | NoChoice:
    began, asked = script.t, turn(**changed)
    value = asyncio.run((model or script.model()).choose(asked))
    assert script.t - began <= asked.seconds, "the deadline is always kept"
    return value


def made(value: Considered | NoChoice) -> tuple[str, Provenance]:
    assert isinstance(value, Considered)
    assert value.provenance is not None
    # What was said has tests of its own.
    assert value.provenance.conversation_sha256 == digest_of(value.conversation)
    return value.choice, structs.replace(value.provenance, conversation_sha256="", fallback_reason="")


def test_a_model_is_asked_and_its_choice_is_sent() -> None:
    script = Script((2.5, says("Odd")))
    assert made(chosen(script)) == ("odd", Provenance(tokens=12, thinking_s=2.5))
    (body,) = script.bodies
    assert body.keys() == {"model", "messages", "stream"}
    assert "Be lucky." in body["messages"][0]["content"]


def test_the_temperature_is_sent_if_one_is_set() -> None:
    script = Script(says("odd"))
    chosen(script, script.model(temperature=0.5))
    assert script.bodies[0]["temperature"] == 0.5


def test_a_model_is_corrected_in_the_same_conversation() -> None:
    script = Script(says("banana"), says("I mean **odd**.\nFinal answer: odd"))
    assert made(chosen(script)) == ("odd", Provenance(tokens=24))
    first, second = script.bodies
    assert second["messages"][:1] == first["messages"]
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("answer", ["banana", "", None, "even or odd? " * 20_000])
@pytest.mark.parametrize("corrections", [0, 1, 5])
def test_after_its_corrections_any_option_is_the_fallback_and_counted_as_one(
    answer: str | None, corrections: int
) -> None:
    script = Script(says(answer))
    choice, provenance = made(chosen(script, script.model(corrections=corrections)))
    assert choice in ("even", "odd")
    assert (provenance.fallbacks, provenance.provider_errors) == (1, 0)
    assert len(script.bodies) == 1 + corrections
    assert len(json.dumps(script.bodies[-1])) < 10_000


def test_a_model_that_takes_too_long_is_slow_and_no_outage() -> None:
    script = Script((99.0, says("odd")))
    choice, provenance = made(chosen(script, seconds=30.0))
    assert choice in ("even", "odd")
    assert (provenance.fallbacks, provenance.provider_errors, provenance.thinking_s) == (1, 0, 29.0)


# --- a provider that fails --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [
    REFUSED, ProviderReply(500, b"oops"), ProviderReply(503, b""),
    ProviderReply(200, b'{"choic'), ProviderReply(200, b"[" * 1_000_000), ProviderReply(500, b"[" * 1_000_000),
    ProviderReply(200, b"[]"), ProviderReply(200, b'{"choices": []}'),
    ProviderReply(200, b'{"choices": [{"message": {"content": "ev\xff\xfeen"}}]}'),
    ProviderReply(500, b'{"error": "\xff"}'),
])  # fmt: skip
def test_when_the_provider_fails_until_the_time_is_over_the_player_declines(failure: ProviderReply | NoReply) -> None:
    script = Script(failure)
    value = chosen(script, seconds=30.0)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert value.detail
    assert value.provenance is not None
    assert (value.provenance.provider_errors, value.provenance.fallbacks) == (1, 0)
    assert script.asked_at == [0, 0.5, 1.5, 3.5, 7.5, 15.5]
    assert script.t == 1029.0, "it has waited: whoever asks again soon would find the same"


def test_a_provider_that_is_back_in_time_is_counted_as_failing_but_the_model_chooses() -> None:
    script = Script(REFUSED, ProviderReply(500, b"oops"), says("odd"))
    choice, provenance = made(chosen(script))
    assert (choice, provenance.provider_errors, provenance.fallbacks, provenance.waited_s) == ("odd", 1, 0, 0.0)


def test_a_rate_limit_is_waited_for_as_long_as_the_provider_says_and_is_no_error() -> None:
    script = Script(LIMITED, (2.0, says("odd")))
    assert made(chosen(script)) == ("odd", Provenance(tokens=12, thinking_s=2.0, waited_s=3.0))
    assert script.asked_at == [0, 3]


def test_a_rate_limit_beyond_the_turn_is_an_outage_and_holds_for_the_next_turn() -> None:
    script = Script(ProviderReply(429, b"", 60.0), says("odd"))
    model = script.model()
    value = chosen(script, model, seconds=30.0)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert script.t == 1029.0
    assert isinstance(chosen(script, model, seconds=30.0), NoChoice)
    assert made(chosen(script, model, seconds=30.0))[0] == "odd"
    assert script.asked_at == [0, 60]


def test_an_outage_after_an_answer_that_could_not_be_read_is_an_outage() -> None:
    value = chosen(Script(says("banana"), REFUSED))
    assert isinstance(value, NoChoice)
    assert value.is_outage


@pytest.mark.parametrize("failure", [
    ProviderReply(401, b'{"error": {"message": "no key"}}'),
    ProviderReply(401, b""), ProviderReply(400, b""), ProviderReply(402, b""), ProviderReply(403, b""),
    ProviderReply(404, b""), ProviderReply(301, b""),
    ProviderReply(429, b'{"error": {"message": "pay first", "code": "insufficient_quota"}}', 3.0),
    ProviderReply(429, b'{"error": {"message": "pay first", "type": "insufficient_quota", "code": null}}'),
])  # fmt: skip
def test_a_failure_that_waiting_cannot_mend_ends_the_turn_at_once(failure: ProviderReply) -> None:
    script = Script(failure)
    value = chosen(script, seconds=30.0)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert (script.asked_at, script.t) == ([0], 1000.0)


class EarlyTimers(Script):
    """Its timers fire a little early, as those of uvloop do."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(max(0.0, seconds - 0.0005))


@pytest.mark.parametrize("failure", [ProviderReply(500, b"oops"), ProviderReply(429, b""), REFUSED])
@pytest.mark.parametrize("takes", [0.001, 0.01, 0.3])
def test_timers_that_fire_early_make_no_choice_of_an_outage(failure: ProviderReply | NoReply, takes: float) -> None:
    script = EarlyTimers((takes, failure))
    for _ in range(40):
        value = chosen(script, seconds=3.0)
        assert isinstance(value, NoChoice)
        assert value.is_outage


def test_an_outage_lasts_until_the_provider_answers() -> None:
    script = Script(ProviderReply(401, b""), (99.0, says("odd")), says("odd"), (99.0, says("odd")))
    model = script.model()
    values = [chosen(script, model, seconds=30.0) for _ in range(4)]
    assert [isinstance(value, NoChoice) for value in values] == [True, True, False, False]
    assert made(values[3])[1].fallbacks == 1, "it has answered before, so it is only slow"


def test_a_provider_that_leaves_the_model_little_time_has_failed() -> None:
    script = Script((20.0, ProviderReply(500, b"oops")), (99.0, says("odd")))
    value = chosen(script, seconds=30.0)
    assert isinstance(value, NoChoice)
    assert (value.is_outage, value.detail) == (True, "the provider answered with status 500: oops")


def test_a_model_that_is_slow_after_a_short_failure_is_slow() -> None:
    script = Script(ProviderReply(500, b"oops"), (99.0, says("odd")))
    _, provenance = made(chosen(script, seconds=30.0))
    assert (provenance.fallbacks, provenance.provider_errors) == (1, 1)


# --- spending ---------------------------------------------------------------------------------------------------------


def test_after_its_spending_cap_the_model_is_not_asked_any_more() -> None:
    script = Script(says("odd"))
    value = chosen(script, script.model(cap=100), tokens_spent=100)
    assert isinstance(value, NoChoice)
    assert (value.is_outage, script.bodies) == (False, [])
    assert "100 tokens" in value.detail
    assert made(chosen(script, script.model(cap=100), tokens_spent=99))[0] == "odd"


def test_no_correction_is_asked_for_beyond_the_cap() -> None:
    script = Script(says("banana"))
    assert made(chosen(script, script.model(cap=100), tokens_spent=90))[1].fallbacks == 1
    assert len(script.bodies) == 1


def test_tokens_that_the_provider_does_not_count_are_estimated() -> None:
    script = Script(says("odd", tokens=None))
    _, provenance = made(chosen(script))
    assert provenance.tokens == pytest.approx(len(json.dumps(script.bodies[0])) / 4, rel=0.1)
    assert provenance.tokens_estimated == provenance.tokens


def test_reported_and_estimated_tokens_are_kept_apart() -> None:
    script = Script(says("banana", tokens=1000), says("odd", tokens=None))
    _, provenance = made(chosen(script))
    assert provenance.tokens == 1000 + provenance.tokens_estimated
    assert 0 < provenance.tokens_estimated < 1000


def test_where_nothing_is_offered_nothing_is_asked() -> None:
    script = Script(says("odd"))
    assert isinstance(chosen(script, options=()), NoChoice)
    assert script.bodies == []


KEYS = ("choices", "message", "content", "usage", "total_tokens", "error")
anything = st.one_of(
    st.binary(max_size=50).map(lambda body: ProviderReply(200, body)),
    st.builds(ProviderReply, st.integers(100, 599), st.binary(max_size=20), st.none() | st.floats(0, 1e6)),
    st.builds(NoReply, st.text(max_size=10), st.booleans()),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
        max_leaves=8,
    ).map(lambda body: ProviderReply(200, json.dumps(body).encode())),
)


@given(st.lists(st.tuples(st.floats(0, 40), anything), min_size=1, max_size=6), st.floats(0.2, 60))
def test_whatever_a_provider_does_the_turn_ends_in_time_with_a_legal_choice_or_none(
    answers: list[tuple[float, ProviderReply | NoReply]], seconds: float
) -> None:
    value = chosen(Script(*answers), seconds=seconds)
    assert isinstance(value, NoChoice) or value.choice in ("even", "odd")
