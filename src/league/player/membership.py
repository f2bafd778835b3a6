"""A player as a member of a league: what it is to the manager, what it remembers, and who may tell it things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from league.enrolment import Enrolment
from league.events import DeviationRecorded
from league.machine import Chance, Machine
from league.player.credentials import Credentials, Speaker
from league.player.matches import OwnMatch
from league.player.memory import Memory
from league.protocol.envelope import Profile, seal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.messages import OpenRequest, Request
from league.protocol.parts import PlayerMeta

LONGEST_DETAIL: Final = 300
LONGEST_NAME: Final = 80


class Member(Machine):
    """What both halves of a player, matches and league, rest on."""

    def __init__(
        self,
        meta: PlayerMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None,
        profile: Profile,
        wished_id: str = "",
    ) -> None:
        super().__init__(chance, secrets)
        self._profile = profile
        self._memory = Memory()
        self._enrolment = Enrolment(
            meta,
            manager_endpoint,
            self._secrets,
            happened=self._happened,
            send=self._send,
            keep_secret=self._keep_secret,
            wished_id=wished_id,
            profile=profile,
        )
        self._credentials = Credentials(self._enrolment, self._secrets)

    def _recognise(
        self, message: Request | OpenRequest, now: float, match_id: str = "-", attempt: int = 0, must: bool = False
    ) -> Speaker:
        """Who speaks; a wrong token is recorded in `compat`, and refused in `strict` or where it `must` be right."""
        speaker = self._credentials.recognise(message.sender, message.auth_token, match_id, attempt)
        if not speaker.trusted:
            code, word = ("E012", "not the one this sender has for us") if message.auth_token else ("E011", "missing")
            wrong = Violation(code, "auth_token", f"auth_token is {word}", "ENVELOPE.auth_token")
            if must or self._profile == "strict":
                raise as_error(wrong)
            self._record(speaker.id, wrong, now)
        return speaker

    def _record(self, agent_id: str, deviation: Violation, now: float) -> None:
        agent_id = agent_id[:LONGEST_NAME]
        if self._memory.is_new((agent_id, deviation.code, deviation.requirement)):
            self._happened(
                DeviationRecorded(
                    at=now,
                    agent_id=agent_id,
                    code=deviation.code,
                    requirement=deviation.requirement,
                    detail=deviation.detail[:LONGEST_DETAIL],
                )
            )

    def _check_league(self, league_id: str) -> None:
        """Only our manager is sure to call the league the same everywhere."""
        us = self._enrolment
        if us.derived_tokens and league_id != us.league_id:
            raise PeerError("E028", f"we play in {us.league_id!r}")

    def _check_player(self, player_id: str | None) -> None:
        if player_id is not None and self._enrolment.is_enrolled and player_id != self._enrolment.agent_id:
            raise PeerError("E005", f"{player_id[:LONGEST_NAME]!r} is not here")

    def _check_invited(self, match_id: str) -> None:
        if not self._memory.matches.of(match_id):
            raise PeerError("E014", f"nobody invited us to {match_id[:LONGEST_NAME]!r}")

    def _acknowledging(
        self, message: Request | OpenRequest, speaker: Speaker, now: float, match: OwnMatch | None = None
    ) -> dict[str, Any]:
        """What all acknowledgements share."""
        name = match.player_id if match else self._enrolment.agent_id
        sender = f"player:{name}" if name else self._enrolment.sender
        place = (match.match_id, match.numbered) if match else ("-", 0)
        token = self._credentials.with_acknowledgement(speaker, *place)
        envelope = seal(sender, now, message.conversation_id or "conv-unknown", token)
        return {**envelope, "status": "ACKNOWLEDGED", "player_id": name or None}
