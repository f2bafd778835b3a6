"""The lines that agents print while they work: one for each event that people wait for.

Each role has a table from the type of an event to the sentence about it. Events in no table are not worth a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from league import events
from league.events import Event
from league.hosting.author import authors
from league.protocol.order_table import ORDERS
from league.protocol.versions import KIT_LEAGUE, is_of_kit
from league.terminal import console
from league.terminal.addresses import agent_url, usual_manager
from league.terminal.display import Style, paint
from league.terminal.tables import counted

if TYPE_CHECKING:  # a process of one role does not load the others
    from league.agent.error_notes import ErrorNote
    from league.machine import Machine
    from league.manager.league_manager import LeagueManager
    from league.membership import MemberMachine
    from league.player.competitor import Competitor
    from league.referee.desk import RefereeDesk

WITHDRAWN = "the operator has taken this agent out of the league"
MOST_NAMED = 12
"""How many ids of others are named in one line."""
LEADERS = 3
"""How many players at the top of the table are named when a round is over."""
NO_METHOD = "there is no method "
SHOWN_AGAIN = frozenset(10**power for power in range(1, 10))
MOST_ERRORS = 1_000
"""The limit on different errors that are shown."""

Sentence = Callable[[Any, Any], str]
"""The sentence about an event, given the machine that it happened to; empty if there is nothing to say."""
Say = Callable[[str], None]


STYLES: Mapping[type[Event], Style] = {
    **dict.fromkeys((events.ScheduleMade, events.LeagueFinished, events.LeagueEnded), Style.STRONG),
    events.Registered: Style.GOOD,
    **dict.fromkeys((events.MatchLost, events.MatchParked, events.MatchPaused, events.AgentApplied), Style.WARNING),
    **dict.fromkeys((events.RequestRefused, events.IdentityContested, events.ResultJudged), Style.BAD),
    **dict.fromkeys((events.MatchRecordKept, events.AnswerRefused), Style.WARNING),
}
"""Events that stand out where the terminal has colours."""


class Narrator(Struct, frozen=True):
    """Prints what happens to an agent."""

    sentences: Mapping[type[Event], Sentence]
    prefix: Callable[[], str] = lambda: ""
    """Names the agent, where several of them share a terminal."""
    say: Say = console.say

    def __call__(self, machine: Machine, happened: Sequence[Event]) -> Callable[[], None]:
        """Put the sentences now, because the machine changes, and return what prints them."""
        return partial(self._print, list(self._lines(machine, happened)))

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(line)

    def _lines(self, machine: Machine, happened: Sequence[Event]) -> Iterator[str]:
        for event in happened:
            sentence = self.sentences.get(type(event))
            text = sentence(machine, event) if sentence else ""
            if not text:
                continue
            line = self.prefix() + text
            style = STYLES.get(type(event))
            if style:
                line = paint(line, style)
            yield line


class ErrorLines(Struct):
    """Prints the errors that other agents report to us; one that keeps coming is printed ever more rarely."""

    say: Say = console.complain
    _times: Counter[str] = field(default_factory=Counter)

    def __call__(self, error: ErrorNote) -> None:
        text = str(error)
        # Who takes us for somebody else tries one name of a method after the other.
        kind = text.partition(NO_METHOD)[0]
        if len(self._times) >= MOST_ERRORS and kind not in self._times:
            return  # an agent that sends ever new errors must not fill our memory
        self._times[kind] += 1
        times = self._times[kind]
        if times == 1:
            self.say(text)
        elif times in SHOWN_AGAIN:
            self.say(f"{text} ({times} times by now)")


# --- the manager ------------------------------------------------------------------------------------------------------


def _member(manager: LeagueManager, agent_id: str) -> str:
    return f"{manager.ledger.roster.members[agent_id].role} {_named(manager, agent_id)}"


def _named(manager: LeagueManager, agent_id: str) -> str:
    return f'{agent_id} "{manager.ledger.roster.members[agent_id].name.display_name}"'


def _league(manager: LeagueManager) -> str:
    return manager.ledger.settings.title or "the league"


def _joined(manager: LeagueManager, event: events.AgentRegistered) -> str:
    settings = manager.ledger.settings
    present = manager.ledger.roster.count(event.role)
    needed = settings.players if event.role == "player" else settings.referees
    sentence = f"{_member(manager, event.agent_id)} registered, at {event.endpoint}"
    if event.came_openly:
        sentence += "; it came in openly, without key or approval"
    if event.agent_id in manager.ledger.roster.late:
        return f"{sentence}; it is late, and plays the matches it missed in extra rounds at the end"
    return f"{sentence} ({present} of {max(present, needed)}){_speechless(manager, event.agent_id)}"


def _speechless(manager: LeagueManager, agent_id: str = "") -> str:
    """The end of a sentence about referees and players that share no calling convention."""
    pairs = manager.speechless(agent_id)
    if not pairs:
        return ""
    names = [
        f"{referee.agent_id} ({referee.convention}) and {player.agent_id} ({player.convention})"
        for referee, player in pairs[:LEADERS]
    ]
    if len(pairs) > LEADERS:
        names.append(f"{len(pairs) - LEADERS} more pairs")
    return (
        f"; no calling convention in common: {', '.join(names)}. A referee of your own, with the enrolment key, can "
        "speak to both"
    )


def _applied(_: LeagueManager, event: events.AgentApplied) -> str:
    applicant = f'{event.role} "{event.display_name}" at {event.endpoint}'
    return f"{applicant} waits for approval: league approve {event.applicant_id}"


def _state_changed(manager: LeagueManager, event: events.AgentStateChanged) -> str:
    if event.state == "SUSPENDED":
        member = _member(manager, event.agent_id)
        if manager.ledger.roster.members[event.agent_id].is_player:
            sentence = f"{member} lost two matches in a row by its own fault"
            return f"{sentence}; it gets one invitation per match until it answers"
        return f"{member} is lost: it does not answer"
    if event.state == "ACTIVE" and event.why != "league_start":
        return f"{_member(manager, event.agent_id)} is back"
    return ""


class PlayerStates(Struct):
    """The sentences about states of members: each state of a player is said once, for some change it all evening."""

    _said: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, manager: LeagueManager, event: events.AgentStateChanged) -> str:
        sentence = _state_changed(manager, event)
        if not sentence or not manager.ledger.roster.members[event.agent_id].is_player:
            return sentence
        is_new = (event.agent_id, event.state) not in self._said
        self._said.add((event.agent_id, event.state))
        return sentence if is_new else ""


def _scheduled(manager: LeagueManager, event: events.ScheduleMade) -> str:
    matches = sum(map(len, event.rounds))
    if len(event.rounds) < len(manager.ledger.rounds):
        # There was a schedule before: these rounds were added to it.
        return f"{len(event.rounds)} extra rounds for players that came late: {matches} matches"
    players = manager.ledger.roster.count("player")
    rounds = counted(len(event.rounds), "round")
    sentence = f"{_league(manager)} starts: {counted(players, 'player')}, {rounds}, {counted(matches, 'match')}"
    silent = manager.not_answering()
    if silent:
        names = ", ".join(_named(manager, agent_id) for agent_id in silent)
        sentence += f"; not answering: {names}"
    return sentence + _speechless(manager)


def _round_opened(manager: LeagueManager, event: events.RoundOpened) -> str:
    rounds = manager.ledger.rounds
    matches = counted(len(rounds[event.round_id - 1].matches), "match")
    return f"round {event.round_id} of {len(rounds)} begins: {matches}"


def _round_finished(manager: LeagueManager, event: events.RoundFinished) -> str:
    ledger = manager.ledger
    tallies = ledger.standings.tallies
    ranking = ledger.standings.ranking(ledger.settings.tiebreakers)
    leaders = ", ".join(f"{_named(manager, player_id)} {tallies[player_id].points}" for player_id in ranking[:LEADERS])
    return f"round {event.round_id} of {len(ledger.rounds)} is over; in front: {leaders}"


def _result_accepted(manager: LeagueManager, event: events.ResultAccepted) -> str:
    sentences = []
    if event.corrected:
        changes = "; ".join(event.corrected)
        sentences.append(f"the report of {event.referee_id} contradicts itself and was corrected: {changes}")
    if event.status == "TECHNICAL_LOSS":
        match = manager.ledger.matches[event.match_id]
        losers = [_named(manager, player_id) for player_id in match.players if player_id != event.winner]
        loss = f"technical loss of {' and '.join(losers)}"
        sentences.append(f"{loss}; league explain {event.match_id} tells why")
    if not sentences:
        return ""
    return f"{event.match_id}: {'. '.join(sentences)}"


def _match_paused(manager: LeagueManager, event: events.MatchPaused) -> str:
    sentence = f"{event.match_id} waits for {_named(manager, event.player_id)}: {event.why}"
    if event.behind:
        sentence += "; it was behind in this match"
    return sentence


def _champion(manager: LeagueManager, event: events.LeagueFinished) -> str:
    from league.reading import endings  # only a manager's process needs it

    if not endings.has_winner(manager):
        return f"{_league(manager)} is over; {endings.NOBODY_WON}"
    points = counted(manager.ledger.standings.tallies[event.champion].points, "point")
    sentence = f"{_league(manager)} is over; the champion is {_named(manager, event.champion)} with {points}"
    return ", ".join([sentence, *endings.champion_remarks(manager, event.champion)])


def _refused(_: LeagueManager, event: events.RequestRefused) -> str:
    request = f"report of {event.match_id}" if event.match_id else event.request
    return f"refused the {request} by {event.role} {event.name} ({event.endpoint}): {event.code} {event.detail}"


def _probed(manager: LeagueManager, event: events.AgentProbed) -> str:
    agent = _member(manager, event.agent_id)
    if not event.findings:
        return f"{agent} answers as it should now"
    return f"{agent}: {event.findings}"


def _lost(_: LeagueManager, event: events.MatchLost) -> str:
    # That a referee is silent was told when it fell silent.
    if event.is_silent:
        return ""
    return f"{event.match_id} is taken from its referee: {event.why}"


def _recorded(manager: LeagueManager, event: events.MatchRecordKept) -> str:
    """The answers that the referee of a match refused, and players whose tokens have changed; nearly no record has any
    of it."""
    written = bytes(event.written)
    if _ANSWER_REFUSED not in written and _TOKEN not in written:
        return ""
    sentences = []
    for recorded in event.record:
        player_id = str(recorded.get("player_id"))
        player = player_id
        if player_id in manager.ledger.roster.members:
            player = _named(manager, player_id)
        if recorded.get("event") == events.AnswerRefused.__name__:
            sentences.append(
                _refused_answer(
                    event.match_id,
                    player,
                    recorded.get("origin"),
                    recorded.get("code"),
                    detail=recorded.get("detail"),
                )
            )
        elif recorded.get("requirement") == WRONG_TOKEN and _was_right_before(manager, event, player_id):
            sentences.append(
                f"{event.match_id}: {player} showed the right token before, and now a wrong one or none; "
                "somebody else may answer at its address"
            )
    if not sentences:
        return ""
    return f"by the record of {event.referee_id}, {'; '.join(sentences)}"


def _was_right_before(manager: LeagueManager, event: events.MatchRecordKept, player_id: str) -> bool:
    """True if the same referee has taken this player's answers before, and never recorded a wrong token."""
    # A referee records each kind of deviation once: what it records now, it did not see in earlier matches.
    codes = set()
    for player, code, requirement in manager.ledger.irregularities.deviations:
        if player == player_id and requirement == WRONG_TOKEN:
            codes.add(code)
    # Missing before and wrong now, or the reverse: it was never right.
    if len(codes) > 1:
        return False
    for match in manager.ledger.matches.values():
        result = match.result
        if match.match_id == event.match_id or player_id not in match.players:
            continue
        is_played = isinstance(result, events.ResultAccepted) and result.status != "TECHNICAL_LOSS"
        if is_played and match.referee_id == event.referee_id:
            return True
    return False


def _refused_answer(match_id: str, player: str, origin: object, code: object, *, detail: object) -> str:
    """Nobody knows who sent it: only where it came from, and whom it names."""
    claim = f", claiming to be {player}," if player else ""
    return f"{match_id}: an answer from somebody at {origin}{claim} was refused, because {detail} ({code})"


def _judged(_: LeagueManager, event: events.ResultJudged) -> str:
    """What speaks against a result is all that the operator learns of how it was judged."""
    # Imported here, because players start faster without it.
    from league.reading.evidence_words import WORDS

    if event.evidence == "proven" or not event.doubt:
        return ""
    return f"{event.match_id} counts, {WORDS[event.evidence]}: {event.doubt}"


WRONG_TOKEN = "TOKEN.wrong_in_answer"
_TOKEN = WRONG_TOKEN.encode()
_ANSWER_REFUSED = f'"{events.AnswerRefused.__name__}"'.encode()
REFUSALS: Mapping[type[Event], Sentence] = {
    events.RequestRefused: _refused,
    events.MatchRecordKept: _recorded,
    events.ResultJudged: _judged,
    events.AgentProbed: _probed,
    events.IdentityContested: lambda _, event: f"two agents seem to go by the name of {event.agent_id}: {event.detail}",
}
"""The sentences that a manager prints even if it is quiet: about refused requests, agents that cannot play as
they are, and agents that claim one name."""


def _carried_out(manager: LeagueManager, event: events.OrderCarriedOut) -> str:
    target = event.target
    if target in manager.ledger.roster.members:
        target = _member(manager, target)
    return ORDERS[event.order].narrated.format(target)


def _came_back(manager: LeagueManager, event: events.TokenRenewed) -> str:
    member = _member(manager, event.agent_id)
    if event.readmitted:
        return f"{member} came back by your order; its old tokens have ended"
    key = manager.ledger.roster.members[event.agent_id].credentials.public_key
    if not event.public_key or key in ("", event.public_key):
        return ""
    return (
        f"{member} came back without its journal, with another signing key: its results rest on the referee's word, "
        f"unless it starts again after league readmit {event.agent_id}"
    )


MANAGER: Mapping[type[Event], Sentence] = {
    events.AgentRegistered: _joined,
    events.AgentApplied: _applied,
    events.TokenRenewed: _came_back,
    events.AgentMoved: lambda manager, event: f"{_member(manager, event.agent_id)} is at {event.endpoint} now",
    events.AgentStateChanged: _state_changed,
    events.ScheduleMade: _scheduled,
    events.RoundOpened: _round_opened,
    events.RoundFinished: _round_finished,
    events.ResultAccepted: _result_accepted,
    events.WalkoverDecided: lambda _, event: f"{event.match_id}: not played, {' and '.join(event.withdrawn)} withdrew",
    events.MatchLost: _lost,
    events.MatchParked: lambda _, event: (
        f"{event.match_id} waits for the operator: league replay-match {event.match_id}"
    ),
    events.ResultVoided: lambda _, event: f"{event.match_id}: its result is void, it is played again",
    events.MatchPaused: _match_paused,
    events.LeagueReopened: lambda *_: "the league is open again",
    events.OrderCarriedOut: _carried_out,
    events.LeagueFinished: _champion,
}


# --- referees and players ---------------------------------------------------------------------------------------------


def _registered(member: MemberMachine, event: events.Registered) -> str:
    if event.league_id == KIT_LEAGUE:
        return f"registered as {event.agent_id} with the conformance kit, whose matches belong to no league"
    sentence = f"registered as {event.agent_id}"
    if event.new_league:
        sentence = f"the manager has begun another league: {sentence}"
    elif event.serial > 1:
        sentence = f"registered again as {event.agent_id}"
    if event.league_id:
        sentence += f" in {event.league_id}"
    if member.findings:
        sentence += f"; the manager says: {member.findings}"
    return sentence


def _decided(_: RefereeDesk, event: events.MatchDecided) -> str:
    """The result. The reason is for both players and quotes nobody; here the faults stand beside it."""
    sentence = f"{event.match_id}: {event.reason}"
    for player_id, fault in event.details.get("faults", {}).items():
        # An error in the author's code is called that, and not by the code of a lost connection.
        _, its_code, cause = fault["detail"].partition("its code ")
        words = its_code + cause.rstrip('"') or f"{fault['detail']} ({fault['code']})"
        sentence += f"; {player_id}: {words}"
    return sentence


def _settled(_: RefereeDesk, event: events.ReportSettled) -> str:
    changes = "; ".join(event.corrected)
    if event.answer == "COUNTED_OTHERWISE":
        return (
            f"{event.match_id}: the manager's table is wrong ({changes}). If it was a draw, the next one is reported "
            "in another word; --draw-as WORD decides it beforehand"
        )
    if event.corrected:
        return f"{event.match_id}: the manager corrected our report: {changes}"
    if event.answer == "ACCEPTED":
        return ""
    if event.answer == "COUNTED_TWICE":
        return f"{event.match_id}: the manager counted it twice, and gets no other report of it"
    return f"{event.match_id}: the manager does not count it ({event.answer})"


def _answer_refused(_: RefereeDesk, event: events.AnswerRefused) -> str:
    return _refused_answer(event.match_id, event.player_id, event.origin, event.code, detail=event.detail)


def _over_for_referee(_: RefereeDesk, event: events.LeagueEnded) -> str:
    if event.withdrawn:
        return WITHDRAWN
    if event.nobody_won:
        return "the league is over; nobody won: no player has a win or a point"
    return f"the league is over; the champion is {event.champion}"


REFEREE: Mapping[type[Event], Sentence] = {
    events.Registered: _registered,
    events.AnswerRefused: _answer_refused,
    events.PlayerAwaited: lambda _, event: f"{event.match_id} waits for {event.player_id}: {event.why}",
    events.MatchDecided: _decided,
    events.ReportSettled: _settled,
    events.MatchDropped: lambda _, event: f"{event.match_id} is dropped: {event.why}",
    events.LeagueEnded: _over_for_referee,
}


OF_KIT = "the kit's "


def _announced(player: Competitor, event: events.RoundAnnounced) -> str:
    announcement = player.announcement
    title = f"round {event.round_id}"
    ids = {player.agent_id, *player.known_as}
    opponents = []
    named = []
    if announcement is not None:
        if announcement.league_id == KIT_LEAGUE:
            title = OF_KIT + title
        for match in announcement.matches:
            named += [match.player_A_id, match.player_B_id]
            if match.player_A_id in ids:
                opponents.append(_title(player, match.player_B_id))
            elif match.player_B_id in ids:
                opponents.append(_title(player, match.player_A_id))
    if opponents:
        return f"{title}: you play against {' and '.join(opponents)}"
    # A third-party manager may schedule other ids than those it gave. A player that was invited before knows its own.
    if player.is_guest and named and not player.known_as:
        names = ", ".join(named[:MOST_NAMED])
        return (
            f"{title}: no match names {player.agent_id}, which the manager registered you as; the players are {names}. "
            "If you should be one of them, start the player with that --id and --name; otherwise you have a bye"
        )
    return f"{title}: you have a bye"


def _title(player: Competitor, player_id: str) -> str:
    """A player's id, with its name if the table or the announcement has it."""
    names: dict[str, str | None] = {}
    for match in player.announcement.matches if player.announcement else ():
        names |= {match.player_A_id: match.player_A_name, match.player_B_id: match.player_B_name}
    for row in player.standings.standings if player.standings else ():
        names[row.player_id] = row.display_name
    name = names.get(player_id)
    return f'{player_id} "{name}"' if name else player_id


def _answered_invitation(player: Competitor, event: events.InvitationAnswered) -> str:
    """Nothing, unless the player goes by another id than its own, or declines: its author may have forgotten to name
    the game."""
    # The kit invites to games that the player does not know, on purpose.
    if is_of_kit(event.conversation_id):
        return ""
    if event.accepted and player.agent_id and event.player_id not in ("", player.agent_id):
        return (
            f"{event.match_id}: {event.referee_id} calls you {event.player_id}, but the manager registered you as "
            f"{player.agent_id}; you play as {event.player_id}. To have one id, start the player with "
            f"--id {event.player_id} --name {event.player_id}"
        )
    if event.accepted:
        return ""
    from shlex import quote  # imported here because hardly any player needs it

    return (
        f"{event.match_id}: declined, because this player does not play {event.game_type}. To play it, add it to the "
        f"games of your class: games = ({event.game_type!r},); or start the player with "
        f"--game {quote(event.game_type)}"
    )


def _game_ended(player: Competitor, event: events.GameEnded) -> str:
    match = player.history[-1]
    # Friendly matches end with their journal, so nothing is left to explain.
    explained_by = "the report of league spar"
    if player.is_of_league(event.match_id, event.referee_id):
        explained_by = _explanation(player, event.match_id)
    result = authors.result(match, _title(player, match.opponent_id), explained_by)
    if not player.plays_with_kit(event.match_id, event.referee_id):
        return f"{result}; but {event.objection}" if event.objection else result
    if event.status == "TECHNICAL_LOSS":
        return f"{OF_KIT}match {event.match_id} was called off: the kit has seen enough of it"
    return f"{OF_KIT}match {result}"


_MISSED = {
    "WIN": "you won",
    "DRAW": "a draw",
    "LOSS": "you lost",
    "TECHNICAL_LOSS": "you lost by a technical loss",
    "WALKOVER": "you lost without playing",
}


def _missed(player: Competitor, event: events.MatchMissed) -> str:
    sentence = f"{event.match_id} against {event.opponent_id} ended while you were away: {_MISSED[event.outcome]}"
    if event.outcome == "TECHNICAL_LOSS":
        sentence += f"; {_explanation(player, event.match_id)} tells why"
    return sentence


def _explanation(player: Competitor, match_id: str) -> str:
    """Return the command that explains a match, as it works at the player's terminal."""
    command = f"league explain {match_id}"
    manager = player.managers[0]
    if manager == agent_url(usual_manager()):
        return command
    return f"{command} --manager {manager.removesuffix('/mcp')}"


def _unsigned(player: Competitor, event: events.ChoiceGiven) -> str:
    """Why a choice is not signed: the first time in each match."""
    if not event.unsigned or player.plays_with_kit(event.match_id, event.referee_id) or event.turn > 1:
        return ""
    return f"{event.match_id}: your choice is not signed: {event.unsigned}"


def _league_over(player: Competitor, event: events.LeagueEnded) -> str:
    if event.withdrawn:
        return WITHDRAWN
    champion = f"the champion is {_title(player, event.champion)}"
    if event.rank is None:
        return f"the league is over; {champion}"
    rank = f"number {event.rank}"
    # The final table has every player. Journals of earlier versions do not say how many those were.
    if event.players:
        rank += f" of {event.players}"
    if event.champion == player.agent_id:
        champion = "you are the champion"
    # Somebody leads every table: also one in which nobody has won anything.
    if player.standings and not any(row.wins or row.points for row in player.standings.standings):
        champion = "nobody won"
    points = counted(event.points or 0, "point")
    return f"the league is over: you are {rank} with {points}; {champion}"


PLAYER: Mapping[type[Event], Sentence] = {
    events.Registered: _registered,
    events.InvitationAnswered: _answered_invitation,
    events.RoundAnnounced: _announced,
    events.GameEnded: _game_ended,
    events.MatchMissed: _missed,
    events.ChoiceGiven: _unsigned,
    events.LeagueEnded: _league_over,
}
