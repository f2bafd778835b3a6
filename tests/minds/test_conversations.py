"""What is recorded of a choice: everything that was said, why the model did not choose, and a digest in the league."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import league
from league.events import ChoiceGiven, ConversationKept
from league.features.audit.study import problem_in
from league.features.minds import conversations
from league.features.minds.conversations import Conversation
from league.features.minds.scripting import AskedPlayer
from league.player.strategies import Considered, NoChoice, Turn
from league.protocol.message.experiment import Provenance
from league.terminal import CommandError
from tests.support.language_models import StandIn, stand_in
from tests.support.processes import Processes

SECONDS = 20.0
FEW_SECONDS = 2.0


def asked(player: AskedPlayer, turn: Turn | None = None) -> Considered | NoChoice:
    """What the player answers to one turn."""
    turn = turn or Turn("even_odd", "M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=SECONDS)

    async def run() -> Considered | NoChoice:
        entrant = player.entrant()
        assert entrant.session is not None
        async with entrant.session():
            choosing: Any = entrant.strategy.choose(turn)
            value: Considered | NoChoice = await choosing
            return value

    return asyncio.run(run())


def said(value: Considered | NoChoice) -> Conversation:
    assert value.provenance is not None
    assert value.provenance.conversation_sha256 == conversations.digest_of(value.conversation)
    conversation = conversations.read(value.conversation)
    assert problem_in(conversation) == ""
    return conversation


def choice_of(server: StandIn, model: str, seconds: float = SECONDS, **settings: Any) -> Considered | NoChoice:
    turn = Turn("even_odd", "M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=seconds)
    return asked(league.LLM(model, server.base_url, **settings), turn)


@pytest.mark.requirement("EXPERIMENT.conversation")
def test_a_choice_is_recorded_with_all_that_was_said() -> None:
    with stand_in() as server:
        value = choice_of(server, "corrected", temperature=0.5)
    conversation = said(value)
    assert (conversation.match_id, conversation.turn, conversation.choice) == ("M1", 1, "even")
    assert (conversation.fallback_reason, conversation.declined) == ("", "")
    assert conversation.asked == "corrected at 127.0.0.1"
    first, second = conversation.exchanges
    assert first.request == server.requests[1], "the greeting came before it"
    assert second.request == server.requests[2]
    assert (first.outcome, second.outcome) == ("unreadable", "choice")
    assert json.loads(first.reply)["choices"][0]["message"]["content"] == "Hm."
    assert (second.finish_reason, second.model, second.attempt) == ("stop", "stand-in", 1)
    assert (second.prompt_tokens, second.completion_tokens, second.tokens_are) == (10, 2, "reported")
    assert second.latency_s > 0


@pytest.mark.requirement("EXPERIMENT.fallback_reason")
@pytest.mark.parametrize(("model", "reason"), [
    ("refusing", "refusal"),
    ("filtered", "refusal"),
    ("sorry", "refusal"),
    ("calling", "tool_call"),
    ("empty", "empty"),
    ("null", "empty"),
    ("banana", "unreadable"),
    ("large", "unreadable"),
])  # fmt: skip
def test_the_reasons_of_fallbacks_are_told_apart(model: str, reason: str) -> None:
    with stand_in() as server:
        value = choice_of(server, model, corrections=0)
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert (value.provenance.fallbacks, value.provenance.fallback_reason) == (1, reason)
    conversation = said(value)
    assert (conversation.fallback_reason, conversation.choice) == (reason, value.choice)
    (exchange,) = conversation.exchanges
    assert exchange.outcome == reason


def test_a_late_model_and_a_provider_that_fails_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_console(), "complain", lambda _: None)
    with stand_in() as server:
        late = choice_of(server, "slow", FEW_SECONDS)
        failing = choice_of(server, "failing", FEW_SECONDS)
    assert isinstance(late, Considered)
    assert said(late).fallback_reason == "late"
    assert isinstance(failing, NoChoice)
    conversation = said(failing)
    assert (conversation.choice, conversation.fallback_reason) == (None, "")
    assert "status 500" in conversation.declined
    assert [exchange.outcome for exchange in conversation.exchanges] == ["provider_failure"] * 2
    assert [exchange.attempt for exchange in conversation.exchanges] == [1, 2]
    assert "something broke in here" in conversation.exchanges[0].reply


def league_console() -> Any:
    from league.terminal import console

    return console


@pytest.mark.parametrize("model", ["streaming", "stream-only", "mistyped"])
def test_providers_with_habits_of_their_own_are_understood(model: str) -> None:
    with stand_in() as server:
        value = choice_of(server, model)
    assert isinstance(value, Considered)
    assert value.choice == "even"
    (exchange,) = said(value).exchanges
    assert (exchange.model, exchange.prompt_tokens, exchange.completion_tokens) == ("stand-in", 10, 2)


def test_half_a_stream_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in() as server:
        value = choice_of(server, "stream-cut", FEW_SECONDS)
    assert isinstance(value, NoChoice)
    assert value.is_outage


def test_estimated_tokens_are_marked_in_the_record() -> None:
    with stand_in() as server:
        (exchange,) = said(choice_of(server, "uncounted")).exchanges
    assert exchange.tokens_are == "estimated"
    assert exchange.prompt_tokens
    assert exchange.prompt_tokens > 100


def test_a_long_reply_is_cut_in_the_record_and_its_length_is_kept() -> None:
    with stand_in() as server:
        (exchange,) = said(choice_of(server, "large", corrections=0)).exchanges
    assert len(exchange.reply) == conversations.LONGEST_REPLY < exchange.reply_length


# --- spending and the cache -------------------------------------------------------------------------------------------


def test_a_budget_in_money_ends_the_asking() -> None:
    turns = [Turn("even_odd", f"M{number}", "P02", ("even", "odd"), b"\x01" * 32) for number in range(1, 4)]
    with stand_in() as server:
        player = league.LLM("right", server.base_url, max_cost=0.00004, price=(1.0, 5.0))

        async def play() -> list[Considered | NoChoice]:
            entrant = player.entrant()
            assert entrant.session is not None
            async with entrant.session():
                choosing: list[Any] = [entrant.strategy.choose(turn) for turn in turns]
                return [await one for one in choosing]

        values = asyncio.run(play())
    # A choice costs 10 * 1.0 + 2 * 5.0 millionths.
    first, second, third = values
    assert isinstance(first, Considered)
    assert first.provenance is not None
    assert first.provenance.cost == pytest.approx(0.00002)
    assert isinstance(second, Considered)
    assert isinstance(third, NoChoice)
    assert third.detail == "the spending cap of 4e-05 (--max-cost) is reached: the model is not asked"


def test_what_the_journal_says_was_spent_counts() -> None:
    with stand_in() as server:
        player = league.LLM("right", server.base_url, max_cost=1.0, price=(1.0, 5.0))
        value = asked(player, Turn("even_odd", "M1", "P02", ("even", "odd"), b"\x01" * 32, cost_spent=1.0))
    assert isinstance(value, NoChoice)


def test_a_cache_answers_the_same_choice_again_and_no_other(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    with stand_in() as server:
        player = league.LLM("right", server.base_url, cache=cache)
        before = asked(player)
        asked(player)
        assert len(server.prompts) == 1
        other = Turn("even_odd", "M2", "P02", ("even", "odd"), b"\x01" * 32)
        asked(player, other)
        asked(league.LLM("upper", server.base_url, cache=cache))
        asked(league.LLM("right", server.base_url, cache=cache, temperature=1.0))
        assert len(server.prompts) == 4
        # Nobody needs to be there for what is known already.
        server.is_down = True
        after = asked(player)
    assert isinstance(before, Considered)
    assert isinstance(after, Considered)
    assert after.choice == before.choice
    (exchange,) = said(after).exchanges
    assert exchange.is_cached
    assert after.provenance is not None
    assert after.provenance.tokens == 0


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cache.db"
    file.write_text("no cache, but a text that is long enough to be taken for a header" * 20)
    with pytest.raises(CommandError, match="cannot be used as a cache"):
        league.LLM("right", "http://127.0.0.1:1/v1", cache=file)


# --- in a league ------------------------------------------------------------------------------------------------------


def test_digests_of_several_choices_are_chained() -> None:
    first = Provenance(conversation_sha256="a" * 64, fallbacks=1, fallback_reason="empty")
    second = Provenance(conversation_sha256="b" * 64, fallbacks=1, fallback_reason="late")
    both = first.plus(second).plus(Provenance(fallback_reason="empty"))
    assert both.fallback_reason == "empty, late"
    assert both.conversation_sha256 == conversations.digest_of("a" * 64 + "b" * 64)


@pytest.mark.requirement("EXPERIMENT.conversation")
def test_the_league_holds_the_digest_and_the_player_the_words(processes: Processes, tmp_path: Path) -> None:
    with stand_in() as server:
        manager = processes.manager(players=2, referees=1, game="tic_tac_toe")
        processes.referee(manager, game="tic_tac_toe")
        model = {"base_url": server.base_url, "game": "tic_tac_toe"}
        processes.players(manager, "right", ask="llm:right", journal=processes.journal("right"), **model)
        last = processes.players(manager, "banana", ask="llm:banana", journal=processes.journal("banana"), **model)
        assert last.wait() == 0
        manager.stop()
    kept = processes.events("right", ConversationKept)
    given = processes.events("right", ChoiceGiven)
    assert len(kept) == len(given) > 2
    digests = [one.provenance.conversation_sha256 for one in given if one.provenance]
    assert digests == [conversations.digest_of(one.conversation) for one in kept]
    # The folder of all journals is exported, and every digest is the league's.
    folder = Path(processes.journal("manager")).parent
    done = processes.run("export", str(folder), "--format", "conversations", "--to", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "conversations.jsonl").read_text().splitlines()]
    assert {row["player_id"] for row in rows} == {"P01", "P02"}
    assert {(row["match_id"], row["in_league_record"]) for row in rows} == {("R1M1", True)}
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "conversations.parquet").num_rows == len(rows)
    site = tmp_path / "site"
    assert processes.run("export", str(folder), "--format", "site", "--to", str(site)).returncode == 0
    pages = "".join(page.read_text("utf-8") for page in site.rglob("*R1M1*"))
    assert "asked right at 127.0.0.1 once" in pages
    assert "You may choose one of" in pages, "the page has the words as well"
    told = processes.run("explain", "R1M1", "--journal", str(folder)).stdout
    assert "asked right at 127.0.0.1 once: it chose" in told
    assert "there was no choice (unreadable)" in told
    assert "a fallback: its language model did not choose, reason: unreadable" in told
    shown = json.loads(processes.run("explain", "R1M1", "--journal", str(folder), "--json").stdout)
    bodies = [line.get("body") or "" for attempt in shown["attempts"] for line in attempt["lines"]]
    assert any('"messages"' in body and "banana" in body for body in bodies)


def test_an_export_without_conversations_says_what_to_do(processes: Processes, tmp_path: Path) -> None:
    manager = processes.manager(players=2, referees=1)
    processes.referee(manager)
    assert processes.players(manager, "both", count=2).wait() == 0
    manager.stop()
    done = processes.run("export", processes.journal("manager"), "--format", "conversations", "--to", str(tmp_path))
    assert done.returncode == 1
    assert "no player's journal here holds a conversation" in done.stderr


# --- an audit ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    with stand_in() as server:
        players = [league.LLM(model, server.base_url, corrections=0) for model in ("right", "banana")]
        league.tournament(players, game="tic_tac_toe", meetings=4, seed=1).write(folder)
    return folder


def copied(study: Path, folder: Path) -> Path:
    for file in study.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_study_is_audited_from_its_folder(study: Path) -> None:
    report = league.audit(study)
    assert report.ok, report.problems
    assert (report.matches, report.replayed) == (4, 4)
    assert 0 < report.fallbacks < report.choices


@pytest.mark.parametrize(("file", "before", "after", "problem"), [
    ("conversations.jsonl", "banana", "apples", "does not have its digest"),
    ("matches.csv", "FIRST_WON", "SECOND_WON", "by the rules"),
    ("matches.csv", "SECOND_WON", "FIRST_WON", "by the rules"),
])  # fmt: skip
def test_an_audit_finds_what_was_changed(
    study: Path, tmp_path: Path, file: str, before: str, after: str, problem: str
) -> None:
    folder = copied(study, tmp_path)
    text = (folder / file).read_text("utf-8")
    if before not in text:
        pytest.fail(f"the study has no {before}")
    (folder / file).write_text(text.replace(before, after), "utf-8")
    assert any(problem in one for one in league.audit(folder).problems)


def test_an_audit_reads_every_reply_again(study: Path, tmp_path: Path) -> None:
    folder = copied(study, tmp_path)
    file = folder / "conversations.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    changed = next(row for row in rows if row["strategy"] == "right")
    conversation = json.loads(changed["conversation"])
    conversation["choice"] = next(one for one in conversation["options"] if one != conversation["choice"])
    changed["conversation"] = json.dumps(conversation)
    changed["sha256"] = conversations.digest_of(changed["conversation"])
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert any("the model did not choose" in one for one in league.audit(folder).problems)


def test_an_audit_misses_what_was_taken_away(study: Path, tmp_path: Path) -> None:
    folder = copied(study, tmp_path)
    file = folder / "conversations.jsonl"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(lines[:-1]), "utf-8")
    assert any("there is no conversation about turn" in one for one in league.audit(folder).problems)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(league.LeagueError, match="does not hold a tournament of models"):
        league.audit(tmp_path)
