"""A provider as it is really asked: over HTTP, with its key, at the start and in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from league.cli.player_command import _refuse_foreign_options
from league.features.minds.asking import AskingPlayer
from league.features.minds.connecting import entrant
from league.hosting.member.players import load
from league.hosting.settings import options
from league.hosting.settings.player_options import PlayerOptions
from league.player.strategies import Considered, NoChoice, Turn
from league.terminal import CommandError, Parser, console
from tests.support.language_models import KEY, StandIn, stand_in

SECONDS = 60.0
FEW_SECONDS = 3.0
"""For turns that have to be waited for."""


def told(server: StandIn | None, model: str, **changed: Any) -> PlayerOptions:
    parser = Parser()
    options.configure(parser, PlayerOptions)
    address = server.base_url if server else "http://127.0.0.1:1/v1"
    given = {"strategy": "llm", "base_url": address, "model": model, "host": "127.0.0.1"}
    chosen = options.read(parser.parse_args(flags(given)), PlayerOptions)
    return replace(chosen, more={**chosen.more, **changed})


def flags(given: Mapping[str, Any]) -> list[str]:
    found = ((f"--{name.replace('_', '-')}", value) for name, value in given.items())
    return [text for flag, value in found for text in ([flag] if value is True else [flag, str(value)])]


def in_session(chosen: PlayerOptions, work: Callable[[AskingPlayer], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        player = entrant(chosen)
        assert isinstance(player.strategy, AskingPlayer)
        assert player.session is not None
        async with player.session():
            return await work(player.strategy)

    return asyncio.run(run())


def choose(server: StandIn | None, model: str, seconds: float = SECONDS, **changed: Any) -> Considered | NoChoice:
    turn = Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=seconds)
    value = in_session(told(server, model, **changed), lambda one: one.choose(turn))
    assert isinstance(value, Considered | NoChoice)
    return value


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said at the terminal."""
    said: list[str] = []
    monkeypatch.setattr(console, "complain", said.append)
    return said


@pytest.mark.parametrize("model", ["right", "upper", "prose", "thinking", "json", "corrected", "limited", "uncounted"])
def test_a_model_plays_however_it_says_what_it_chooses(model: str) -> None:
    with stand_in() as server:
        value = choose(server, model)
    assert isinstance(value, Considered)
    assert value.choice == "even"
    assert value.provenance is not None
    assert (value.provenance.fallbacks, value.provenance.provider_errors) == (0, 0)
    assert (value.provenance.waited_s > 0) == (model == "limited")


@pytest.mark.parametrize("model", ["empty", "null", "banana", "large"])
def test_a_model_that_says_nothing_clear_gets_a_fallback(model: str) -> None:
    with stand_in() as server:
        value = choose(server, model)
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert value.provenance.fallbacks == 1
    assert len(server.prompts) == 2


def test_a_model_that_is_too_slow_gets_a_fallback_in_time() -> None:
    with stand_in() as server:
        value = choose(server, "slow", seconds=FEW_SECONDS)
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert (value.provenance.fallbacks, value.provenance.provider_errors) == (1, 0)


def test_a_provider_that_fails_makes_the_player_decline(complaints: list[str]) -> None:
    with stand_in() as server:
        value = choose(server, "failing", seconds=FEW_SECONDS)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert value.detail == "the provider answered with status 500: something broke in here"
    assert complaints == [f"{value.detail}; failing declines its matches until that is over"]


@pytest.mark.parametrize("model", ["failing", "busy"])
def test_no_outage_becomes_a_choice(model: str, complaints: list[str]) -> None:
    async def forty_turns(strategy: AskingPlayer) -> list[Considered | NoChoice]:
        turns = [
            Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=FEW_SECONDS + number / 100)
            for number in range(40)
        ]
        return await asyncio.gather(*map(strategy.choose, turns))

    with stand_in() as server:
        values = in_session(told(server, model), forty_turns)
    assert [value.is_outage if isinstance(value, NoChoice) else value.choice for value in values] == [True] * 40


def test_who_cannot_be_reached_at_the_start_may_be_back_soon(complaints: list[str]) -> None:
    value = choose(None, "right", seconds=FEW_SECONDS)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert "cannot be reached" in complaints[0]


@pytest.mark.parametrize(("model", "path", "said"), [
    ("nobody", "", "status 404: this model does not exist; --base-url must be"),
    ("right", "/v2", "status 404: there is no /v1/v2/chat/completions; --base-url must be"),
    ("spent", "", "status 429: you exceeded your quota; the account of LEAGUE_LLM_KEY needs credit"),
    ("moved", "", "status 301: no reason given; --base-url leads to something else"),
    ("page", "", "status 200, but not with a chat completion; --base-url leads to something else"),
    ("cut", "", "status 200, but not with a chat completion; --base-url leads to something else"),
])  # fmt: skip
def test_what_is_wrong_for_good_is_refused_at_the_start(model: str, path: str, said: str) -> None:
    with stand_in() as server, pytest.raises(CommandError) as refused:
        choose(server, model, base_url=f"{server.base_url}{path}")
    assert said in str(refused.value)


@pytest.mark.parametrize("key", ["", "sk-another"])
def test_a_wrong_key_is_refused_at_the_start_and_shown_to_nobody(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("LEAGUE_LLM_KEY", key)
    with stand_in(KEY) as server, pytest.raises(CommandError) as refused:
        choose(server, "right")
    assert "LEAGUE_LLM_KEY must hold the key" in str(refused.value)
    assert key == "" or key not in str(refused.value)


def test_the_key_is_sent_and_masked_in_whatever_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_LLM_KEY", KEY)
    with stand_in(KEY) as server:
        assert isinstance(choose(server, "right"), Considered)
        server.key = "another"  # it goes on to quote the key it was shown
        with pytest.raises(CommandError) as refused:
            choose(server, "right")
    assert "Incorrect API key provided: ***" in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_short_key_hides_nothing_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_LLM_KEY", "even")
    with stand_in("even") as server:
        value = choose(server, "right")
    assert isinstance(value, Considered)
    assert (value.choice, len(server.prompts)) == ("even", 1)


def test_a_key_that_would_break_the_request_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_LLM_KEY", "sk-1\r\nX-Evil: 1")
    with pytest.raises(CommandError, match="LEAGUE_LLM_KEY is not a key"):
        choose(None, "right")


@pytest.mark.parametrize(("changed", "said"), [
    ({"strategy": "random", "base_url": "http://127.0.0.1:1"}, "--base-url is for --strategy llm"),
    ({"strategy": "llm", "model": "m"}, "--strategy llm needs --base-url and --model"),
])  # fmt: skip
def test_settings_of_models_are_for_models_and_needed_there(changed: dict[str, str], said: str) -> None:
    parser = Parser()
    options.configure(parser, PlayerOptions)
    chosen = options.read(parser.parse_args(flags({**changed, "host": "127.0.0.1"})), PlayerOptions)

    def start() -> None:
        _refuse_foreign_options(chosen, [chosen.strategy])
        load(chosen.strategy, chosen)

    with pytest.raises(CommandError, match=said):
        start()


def test_a_base_url_that_is_none_is_refused() -> None:
    with pytest.raises(CommandError, match="--base-url: "):
        load("llm", told(None, "m", base_url="not an address"))


def test_a_prompt_of_ones_own_is_read_from_a_file_and_stands_on_the_card(tmp_path: Any) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Play $game, please.", "utf-8")
    entrant = load("llm", told(None, "gpt-x", prompt=file, temperature=0.5))
    card = entrant.conditions or {}
    assert card.pop("prompt_sha256")
    assert card == {
        "model": "gpt-x",
        "provider": "127.0.0.1",
        "prompt": "Play $game, please.",
        "corrections": 1,
        "temperature": 0.5,
    }
    assert entrant.title == "gpt-x"
    file.write_text("$nothing", "utf-8")
    with pytest.raises(CommandError, match="is not a prompt: there is no \\$nothing"):
        load("llm", told(None, "gpt-x", prompt=file))
    with pytest.raises(CommandError, match="cannot read"):
        load("llm", told(None, "gpt-x", prompt=tmp_path / "absent.txt"))


def test_models_do_not_play_where_there_is_no_league() -> None:
    with pytest.raises(CommandError, match="league player --strategy llm"):
        load("llm")
