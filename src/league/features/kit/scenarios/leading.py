"""The scenario in which a manager runs a league of players and referees of the kit."""

# Theory of operation
#
# The kit registers two players and a referee, and two more players and another referee if the league does not begin.
# It plays no match: when an announcement or an assignment names one, it reports a result that it has thought of (a
# draw, the first player wins, the second player wins), as the referee that the manager named. Matches are read as our
# own referee reads them. Before the first report it asks for the schedule, as a referee. When nothing more
# comes, it asks for the table, reports the last match again and with another result, and asks for the table once more.

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from league.features.kit.driver.conventions import Object
from league.features.kit.driver.kit import Kit
from league.features.kit.driver.messages import REFEREE, WAYS, parity_of
from league.features.kit.driver.record import KitMember, StagedMatch, message_in
from league.features.kit.scenarios.refereeing import home_of
from league.gateway.readers.foreign_assignments import Assignee, announcement_in, schedule_in
from league.protocol.errors import PeerError
from league.protocol.message.messages import RegisterResponse, RoundAnnouncement

STAGES: Final = (("P01", "REF01", "P02"), ("P03", "P04", "REF02"))
BEGIN_S: Final = 5.0
"""How long a league may take to begin when enough have registered."""
QUIET_S: Final = 8.0
"""How long the next match may take."""
EVEN, ODD = 8, 7
RESULTS: Final = (("even", "even", EVEN), ("even", "odd", EVEN), ("even", "odd", ODD))
"""The choices of both players and the number, in turn: first the draw, which managers count wrongly most often."""
REFEREE_FIELDS: Final = ("referee_id", "referee_endpoint")
START: Final = {"jsonrpc": "2.0", "id": 1, "method": "start_league", "params": {}}


async def leading(kit: Kit) -> None:
    """Let the manager run a whole league."""
    for stage in STAGES:
        for name in stage:
            await _register(kit, name)
        if not kit.record.members("referee") or not kit.record.members("player"):
            return
        if await _next_match(kit, BEGIN_S) is not None:
            break
    else:
        await kit.send_document("start of the league", START)
    record = kit.record
    last: Object | None = None
    while (match := await _next_match(kit, QUIET_S)) is not None:
        if last is None:
            await _ask(kit, match, "schedule", "referee", "GET_SCHEDULE")
        report = _report(kit, match, len(record.staged))
        choices = report["result"]["details"]["choices"]
        record.staged.append(StagedMatch(match["match_id"], {player: (choices[player],) for player in choices}))
        await kit.send_message("report", report)
        last = match
    if last is None:
        return
    await _ask(kit, last, "table")
    number = len(record.staged) - 1
    await kit.send_message("report again", _report(kit, last, number))
    await kit.send_message("another report", _report(kit, last, number + 1))
    await _ask(kit, last, "table afterwards")


async def _register(kit: Kit, name: str) -> None:
    """Register a member in the form that the manager understands."""
    role = "referee" if name.startswith("REF") else "player"
    kind = "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST"
    message = kit.writer.write(kind, member=name, home=kit.server.url + home_of(name))
    del message["auth_token"]
    probe = await kit.send_in_any_form(
        f"registration: {name}", message, lambda probe: isinstance(message_in(probe), RegisterResponse)
    )
    answer = message_in(probe)
    agent_id = getattr(answer, f"{role}_id", None)
    if isinstance(answer, RegisterResponse) and answer.status == "ACCEPTED" and agent_id:
        kit.record.hosted.append(KitMember(role, name, agent_id, answer.auth_token))


# --- matches ----------------------------------------------------------------------------------------------------------


async def _next_match(kit: Kit, seconds: float) -> Object | None:
    """Return a match that was not reported yet; None if none comes in time."""
    until = asyncio.get_running_loop().time() + seconds / kit.options.time_scale
    while asyncio.get_running_loop().time() < until:
        reported = {staged.match_id for staged in kit.record.staged}
        for match in _announced(kit):
            if match["match_id"] not in reported:
                return match
        await asyncio.sleep(0.1)
    return None


def _announced(kit: Kit) -> list[Object]:
    """Return the matches that the manager has named, with what each of its messages says of them."""
    matches: dict[str, Object] = {}
    for arrival in kit.record.requests(*WAYS):
        # A referee needs no other address than its own.
        assignee = Assignee(REFEREE, kit.server.url + arrival.place, "league")
        for fields in schedule_in(arrival.normalised):
            with suppress(PeerError):
                read = announcement_in({**arrival.normalised, **fields}, assignee, arrival.at).open()
                assert isinstance(read, RoundAnnouncement)
                [match] = read.matches
                matches.setdefault(match.match_id, {}).update(
                    {
                        "match_id": match.match_id,
                        "round_id": read.round_id,
                        "league_id": read.league_id,
                        "players": (match.player_A_id, match.player_B_id),
                        **{name: fields[name] for name in REFEREE_FIELDS if fields.get(name)},
                    }
                )
    return list(matches.values())


def _report(kit: Kit, match: Object, number: int) -> Object:
    """Return a report of a match with the result of this number."""
    first, second = match["players"]
    choice, other_choice, drawn = RESULTS[number % len(RESULTS)]
    parity = parity_of(drawn)
    winner = first if choice == parity else second
    points = {first: 0, second: 0, winner: 3}
    if choice == other_choice:
        winner = None
        points = {first: 1, second: 1}
    referee = _referee_of(kit, match)
    words: Object = {
        "match": match["match_id"],
        "league": match["league_id"],
        "player": first,
        "opponent": second,
        "referee": referee.id,
        "points": points[first],
        "other points": points[second],
        "drawn": drawn,
        "parity": parity,
        "choice": choice,
        "other choice": other_choice,
        "status": "WIN" if winner else "DRAW",
    }
    message = kit.writer.write("MATCH_RESULT_REPORT", match["round_id"], **words)
    message["result"]["winner"] = winner
    message["auth_token"] = referee.token
    return message


def _referee_of(kit: Kit, match: Object) -> KitMember:
    """Return the referee that the manager named; the first one if it named none."""
    referees = kit.record.members("referee")
    for member in referees:
        if member.id == match.get("referee_id") or kit.server.url + member.path == match.get("referee_endpoint"):
            return member
    return referees[0]


async def _ask(kit: Kit, match: Object, label: str, role: str = "player", query_type: str = "GET_STANDINGS") -> None:
    member = kit.record.members(role)[0]
    message = kit.writer.write("LEAGUE_QUERY", player=member.id, league=match["league_id"])
    message |= {"sender": f"{role}:{member.id}", "query_type": query_type, "auth_token": member.token}
    await kit.send_message(label, message)
