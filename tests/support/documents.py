"""Agents that follow one of the five source documents to the letter and know none of the others: its printed fields and
nothing else, its way of calling, its order. Each row says what its document says, with the lines it is taken from.

D0 prints messages and no transport: they travel as they are, and an answer is a message like any other, sent with a
POST of its own (`posting_player`). Its referee uses "these structures exactly" and reports without envelope and token,
that of D2 without a token (`referee` with `to_the_letter`). D1 has JSON-RPC methods, string ids and acknowledgements
in the result. D2 has JSON-RPC with the message type as method and sequential whole ids. D3 has MCP servers and a whole
envelope with the token. D4 prints messages like D0, wants the envelope around them, and writes dates without dashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from tests.support.dialects import BY_VERB, TYPES, Convention, bare, by_method, capitals, tools, verb
from tests.support.foreign_managers import Manager, Office
from tests.support.foreign_referees import CAPITALS, Match, Referee, Trade, by_endpoint
from tests.support.peer import Peer
from tests.support.scripts import BROADCASTS, Object, Reaction, Script, on

ENVELOPE: Final = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
NOTHING_BACK: Final = on((*BROADCASTS, "GAME_OVER", "GAME_ERROR"), Reaction(body=b""))
"""To what has "Expected Response: None" it answers with an empty 200."""

_META: Final = ("player_meta", "referee_meta")
_INVITATION: Final = ("league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id")
_JOIN: Final = ("match_id", "player_id", "arrival_timestamp", "accept")
_CALL: Final = ("match_id", "player_id", "game_type", "context", "deadline")
_CHOICE: Final = ("match_id", "player_id", "parity_choice")
_OVER: Final = ("match_id", "game_type", "game_result")
_REPORT: Final = ("league_id", "round_id", "match_id", "game_type", "result")
_MATCH: Final = ("match_id", "game_type", "player_A_id", "player_B_id", "referee_endpoint")
_ACK: Final = ("status", "player_id", "round_id", "match_id")


@dataclass(frozen=True, slots=True)
class Document:
    """What one document says of every message, as its reader would build it."""

    convention: Convention
    fields: Mapping[str, tuple[str, ...]]
    """The fields of each message it prints, besides the type."""
    envelope: tuple[str, ...] = ENVELOPE
    """Of the messages that it prints without one."""
    carries_token: bool = False
    clock: Callable[[datetime], str] = lambda now: now.strftime("%Y-%m-%dT%H:%M:%SZ")
    script: Script = ()

    def misses(self, message: Object) -> set[str]:
        """What the document prints of a message, and this one lacks."""
        kind = str(message.get("message_type", ""))
        return {*ENVELOPE, *self.fields.get(kind, ())} - {*message, *_META}

    def printed(self, message: Object) -> Object:
        """Nothing but what the document prints."""
        kind = str(message.get("message_type", ""))
        own = self.fields.get(kind, _ACK if kind.endswith("_ACK") else tuple(message))
        outer = (*self.envelope, "auth_token") if self.carries_token else self.envelope
        whole = {name: value for name, value in message.items() if name in ("message_type", *outer, *own)}
        if "matches" in whole:
            whole["matches"] = [{name: one[name] for name in _MATCH} for one in whole["matches"]]
        return whole

    @property
    def speaks(self) -> Convention:
        """Its way of calling and answering, with its printed messages inside."""
        how = self.convention
        return replace(
            how,
            request=lambda number, method, message: how.request(number, method, self.printed(message)),
            answer=lambda call, message: how.answer(call, self.printed(message)),
        )


_PRINTED: Final[Mapping[str, tuple[str, ...]]] = {
    "LEAGUE_REGISTER_REQUEST": _META,
    "REFEREE_REGISTER_REQUEST": _META,
    "GAME_INVITATION": _INVITATION,
    "GAME_JOIN_ACK": _JOIN,
    "CHOOSE_PARITY_CALL": _CALL,
    "CHOOSE_PARITY_RESPONSE": _CHOICE,
    "GAME_OVER": _OVER,
    "MATCH_RESULT_REPORT": _REPORT,
}


_MEMBERSHIP: Final = ("status", "player_id", "referee_id", "reason")
_WITH_TOKEN: Final = (*_MEMBERSHIP, "auth_token")
_MANAGERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ROUND_ANNOUNCEMENT": ("league_id", "round_id", "matches"),
    "LEAGUE_STANDINGS_UPDATE": ("league_id", "round_id", "standings"),
    "ROUND_COMPLETED": (*ENVELOPE, "league_id", "round_id", "matches_completed", "next_round_id"),
    "LEAGUE_COMPLETED": (*ENVELOPE, "league_id", "total_rounds", "total_matches", "champion", "final_standings"),
}
"""What all of them print of a manager's messages; these two with the envelope everywhere (D0 330-380)."""
_REGISTERED: Final[Mapping[str, tuple[str, ...]]] = {
    "D0": _MEMBERSHIP,
    "D1": (*_WITH_TOKEN, "league_id"),
    "D2": _MEMBERSHIP,
    "D3": _WITH_TOKEN,
    "D4": _WITH_TOKEN,
}
"""The answer to a registration (D0 42-50, 86-94; D1 131-150; D2 158-190; D3 133-142; D4 289: token in the envelope)."""


def _string_ids(convention: Convention) -> Convention:
    """D1 105: its ids read req-001."""
    return replace(
        convention,
        request=lambda number, method, message: {
            **convention.request(number, method, message),
            "id": f"req-{number:03}",
        },
    )


def _compact(now: datetime) -> str:
    """D4 588: 20250115T10:30:00Z."""
    return now.strftime("%Y%m%dT%H:%M:%SZ")


_MCP_TOOLS: Final = {kind.lower(): kind for kind in TYPES}

DOCUMENTS: Final[Mapping[str, Document]] = {
    # D0 18-29, 139-179: the messages alone; a match message has the conversation in it (D0 150).
    "D0": Document(
        bare(),
        {**_PRINTED, "GAME_INVITATION": (*_INVITATION, "conversation_id"), "GAME_OVER": (*_OVER, "reason")},
        envelope=(),
        script=NOTHING_BACK,
    ),
    # D1 24-70: verbs, string ids, the whole envelope, the token in every request after the registration.
    "D1": Document(_string_ids(by_method(BY_VERB, verb)), _PRINTED, carries_token=True),
    # D2 58-100: the message type is the method, whole ids, five common fields, no token anywhere.
    "D2": Document(by_method({kind: kind for kind in TYPES}, capitals), _PRINTED),
    # D3 20-36, 71-83, 133: MCP servers, the envelope with the token in every message after registration.
    "D3": Document(tools(_MCP_TOOLS), _PRINTED, carries_token=True),
    # D4 60-68, 588: the printed messages in the mandatory envelope, the token in it, dates without dashes.
    "D4": Document(bare(), _PRINTED, carries_token=True, clock=_compact, script=NOTHING_BACK),
}


# --- players and referees ---------------------------------------------------------------------------------------------


def posting_player(label: str = "player of D0 that posts") -> Peer:
    """A player by D0, to whose author every message is a request: it answers the call with an empty 200, and sends its
    GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE (D0 181-196, 228-241: neither conversation nor token) to the referee's
    endpoint in the announcement (D0 127)."""
    document = DOCUMENTS["D0"]
    posts = on(("GAME_INVITATION", "CHOOSE_PARITY_CALL"), Reaction(body=b"", posted=True))
    return Peer(label, convention=document.speaks, script=(*posts, *document.script), clock=document.clock)


def player(name: str, label: str = "") -> Peer:
    """A player by this document."""
    document = DOCUMENTS[name]
    return Peer(label or f"player of {name}", convention=document.speaks, script=document.script, clock=document.clock)


@dataclass
class DocumentReferee(Referee):
    """It finds its matches by its own endpoint in the announcement, the only thing there that all documents have. Where
    the players live no document tells it: it is configured with that, as its author would."""

    directory: Callable[[], Mapping[str, str]] = dict

    def _match(self, asked: Object) -> Match:
        self._players = dict(self.directory())
        unaddressed = {name: one for name, one in asked.items() if name not in CAPITALS[1]}
        return super()._match(unaddressed)


def referee(name: str, label: str = "", *, to_the_letter: bool = False) -> DocumentReferee:
    """A referee by this document; to the letter, its reports too have nothing but what the document prints of them."""
    document = DOCUMENTS[name]
    # A report goes to the manager, which knows its sender by token and envelope only (D0 436-450 prints both for a
    # request to the manager; D3 133). D0 300-326 and D2 111-117 print neither a token in it, nor D0 an envelope.
    to_manager = document if to_the_letter else replace(document, envelope=ENVELOPE, carries_token=True)
    trade = Trade(filters=by_endpoint, invites=document.speaks)
    made = DocumentReferee(
        label or f"referee of {name}", convention=to_manager.speaks, clock=document.clock, trade=trade
    )
    made.script = document.script
    return made


PLAYERS: Final[Mapping[str, Callable[[], Peer]]] = {name: partial(player, name) for name in DOCUMENTS}
REFEREES: Final[Mapping[str, Callable[[], DocumentReferee]]] = {name: partial(referee, name) for name in DOCUMENTS}


QUERIES: Final = frozenset({"GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS"})
"""All that any document asks a manager (D0 436, D2 262, D4 1096): nobody may ask it where players live."""


def manager(name: str, *, to_players_only: bool = False) -> Manager:
    """A manager by this document: it announces rounds as printed, and so tells nobody where players live. D0 110, D1
    370 and D4 322 send announcements "to all players", and so nothing to referees: they may ask for the schedule (D0
    411, D4 1088)."""
    document = DOCUMENTS[name]
    answers = dict.fromkeys(("LEAGUE_REGISTER_RESPONSE", "REFEREE_REGISTER_RESPONSE"), _REGISTERED[name])
    own = replace(document, fields={**document.fields, **_MANAGERS, **answers})
    office = Office(endpoints=False, queries=QUERIES, is_polled=to_players_only, knows_lists=not to_players_only)
    return Manager(f"manager of {name}", convention=own.speaks, clock=document.clock, office=office)


MANAGERS: Final[Mapping[str, Callable[[], Manager]]] = {name: partial(manager, name) for name in DOCUMENTS}
