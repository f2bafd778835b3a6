"""What a token once proved is remembered: it never proves anything else than to a player that has not seen it."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from league.events import Event, Registered
from league.player.competitor import Competitor
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.messages import GameInvitation
from league.protocol.signing import tokens
from tests.support.player_rig import MANAGER_URL, ME, META, START

LEAGUES = ("spring", "summer")
TOKENS = [tokens.mint(ME, bytes([number]) * 32) for number in range(3)]

registrations = st.tuples(st.sampled_from(TOKENS), st.sampled_from(LEAGUES), st.sampled_from([True, True, False]))
"""The token it gave us, the league it is in, and whether its manager derives tokens."""


@st.composite
def requests(draw: st.DrawFn) -> Unsealed:
    """Somebody invites us, with a token that was derived for this or for something else."""
    sender = draw(st.sampled_from(["REF01", "REF02"]))
    about = draw(st.sampled_from(["REF01", "REF02"])), ME, draw(st.sampled_from(LEAGUES))
    match_id, attempt = draw(st.sampled_from(["R1M1", "R1M2"])), draw(st.integers(1, 2))
    token = tokens.derive(tokens.deriver(draw(st.sampled_from(TOKENS))), *about, match_id, draw(st.integers(1, 2)))
    invitation = GameInvitation(
        **seal(f"referee:{sender}", START, "conv-1", token),
        league_id="spring",
        round_id=1,
        match_id=match_id,
        game_type="even_odd",
        role_in_match="PLAYER_A",
        opponent_id="P02",
        attempt=attempt,
    )
    return Unsealed(invitation.type, invitation)


def player(secrets: dict[str, str], *events: Event) -> Competitor:
    new = Competitor(META, MANAGER_URL, Random(1).randbytes, secrets)
    for event in events:
        new.apply(event)
    return new


@given(
    st.lists(st.tuples(registrations, st.booleans(), st.lists(requests(), max_size=4)), min_size=1, max_size=6),
)
def test_a_token_proves_what_it_proves_to_a_player_that_sees_it_for_the_first_time(
    history: list[tuple[tuple[str, str, bool], bool, list[Unsealed]]],
) -> None:
    secrets = {f"token/{serial}": token for serial, ((token, _, _), _, _) in enumerate(history, start=1)}
    lived, events, asked = player(secrets), [], []
    for serial, ((_, league_id, derived), is_new, said) in enumerate(history, start=1):
        registered = Registered(
            at=START, agent_id=ME, league_id=league_id, serial=serial, derived_tokens=derived, new_league=is_new
        )
        events.append(registered)
        lived.apply(registered)
        asked += said
        for one in (*asked, *asked):
            assert lived.member_behind(one) == player(secrets, *events).member_behind(one)
