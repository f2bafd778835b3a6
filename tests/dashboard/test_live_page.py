"""Who follows the league page has the whole page, however many frames it missed, and nothing is sent twice."""

from __future__ import annotations

import json
import re

import pytest

from league.features.dashboard.live_page import LivePage
from league.features.dashboard.rendering import Links, Renderer, parts_of
from league.features.dashboard.views.league_view import LeagueView, league_view
from tests.dashboard.test_league_view import rounds
from tests.support.managed import Managed
from tests.support.stories import SECRET

HOSTILE = "Ann & \" onload='x' {{ 7*7 }}"


class Viewer:
    """What the script of the page does with frames."""

    def __init__(self) -> None:
        self.position = ""
        self.pieces: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}

    def take(self, frame: bytes) -> dict[str, str]:
        found = re.fullmatch(rb"id: (\S+)\ndata: (.+)\n\n", frame)
        assert found is not None
        self.position = found[1].decode()
        document = json.loads(found[2])
        self.pieces |= document["pieces"]
        self.lists |= document["lists"]
        return dict(document["pieces"])

    def page(self) -> dict[str, list[str]]:
        return {name: [self.pieces[one] for one in ids] for name, ids in self.lists.items()}


def views_of_a_league() -> list[LeagueView]:
    return [league_view(managed.manager) for managed in rounds("A", None, "B")]


def whole(view: LeagueView) -> dict[str, list[str]]:
    renderer = Renderer(Links())
    return {name: [renderer.part(name, one) for one in part.values()] for name, part in parts_of(view).items()}


@pytest.mark.parametrize("missed", [1, 2, 3])
def test_a_viewer_that_missed_frames_has_the_page_as_it_is(missed: int) -> None:
    live, viewer = LivePage(Renderer(Links()), "here"), Viewer()
    shown = views_of_a_league()
    for number, view in enumerate(shown, start=1):
        assert live.show(view)
        if number % missed == 0 or view is shown[-1]:
            viewer.take(live.frame(live.edition_at(viewer.position))[1])
    assert viewer.page() == whole(shown[-1])
    assert viewer.position == live.position


def test_only_what_changed_is_sent_and_a_frame_is_encoded_once() -> None:
    live, viewer = LivePage(Renderer(Links()), "here"), Viewer()
    first, second, _ = views_of_a_league()
    live.show(first)
    viewer.take(live.frame(0)[1])
    assert not live.show(first)
    live.show(second)
    edition, frame = live.frame(live.edition_at(viewer.position))
    assert edition == live.edition
    assert live.frame(live.edition_at(viewer.position))[1] is frame
    sent = viewer.take(frame)
    assert "standing-P01" in sent
    assert not any(one.startswith("agent-") for one in sent)


@pytest.mark.parametrize("position", ["", "elsewhere-1", "here-", "here-x", "here-²", "-1", "here-" + "9" * 5000])
def test_a_position_of_nobody_gets_everything_or_nothing_new(position: str) -> None:
    live = LivePage(Renderer(Links()), "here")
    live.show(views_of_a_league()[0])
    assert live.edition_at(position) in (0, live.edition)
    assert live.edition_at("here-1") == 1


@pytest.mark.requirement("TOKEN.never_shown")
def test_names_by_others_are_text_and_show_no_token() -> None:
    managed = Managed(players=2, referees=1, title="<script>alert(1)</script>")
    managed.register("referee", 1, display_name=HOSTILE)
    managed.register("player", 1, display_name=HOSTILE)
    managed.register("player", 2, display_name=f"I am {SECRET}")
    managed.answer_pings()
    managed.play("A")
    page = Renderer(Links()).league(league_view(managed.manager))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Ann &amp; " in page
    assert "{{ 7*7 }}" in page
    assert "onload='" not in page
    assert SECRET not in page
