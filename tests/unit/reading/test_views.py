"""What people are told of the agents of a league: words instead of states, and who does not answer."""

from __future__ import annotations

from league.events import AgentStateChanged
from league.reading import views
from tests.support.managed import Managed


def status(league: Managed) -> dict[str, str]:
    return {one["agent_id"]: one["status"] for one in views.agents(league.manager)["agents"]}


def silent(league: Managed) -> dict[str, float]:
    return {one["agent_id"]: one["since"] for one in views.agents(league.manager)["not_answering"]}


def test_the_states_of_agents_are_told_in_words() -> None:
    league = Managed(players=3)
    league.register("player", 1)
    assert status(league) == {"P01": "registered"}
    league = Managed(players=3).fill()
    assert set(status(league).values()) == {"playing"}
    for agent_id in ("P01", "REF01"):
        league.manager.apply(AgentStateChanged(at=league.now, agent_id=agent_id, state="SUSPENDED", why="test"))
    league.operate("withdraw", "P02")
    assert status(league) == {"REF01": "not answering", "P01": "not playing", "P02": "withdrawn", "P03": "playing"}


def test_at_the_end_everybody_has_finished() -> None:
    league = Managed(players=2).fill()
    league.play()
    assert set(status(league).values()) == {"finished"}


def test_who_does_not_answer_is_told_with_the_time_of_the_first_failure_until_it_says_something() -> None:
    league = Managed(players=3)
    league.register("player", 1)
    began = league.now
    league.fail(league.calls("ping")[0])
    league.wait(2.5)
    league.fail(league.calls("ping")[0])
    assert silent(league) == {"P01": began}
    league.query("P01", "GET_STANDINGS")
    assert silent(league) == {}
