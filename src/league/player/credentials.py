"""Tokens as a player uses them (spec section 9): what we show to whom, and whether others are who they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from league.enrolment import Enrolment
from league.protocol import tokens

REGISTRATIONS: Final = 8
"""Tokens of so many registrations are tried: who was told of an earlier one may still go by it (R-36)."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who sent a request. `key` is the K its token was derived from, as far as it was; `trusted`: it is right, or under
    this manager nothing can be checked."""

    id: str
    key: str | None
    trusted: bool


class Credentials:
    """What our registrations gave us to show and to check."""

    def __init__(self, enrolment: Enrolment, secrets: Mapping[str, str]) -> None:
        self._enrolment = enrolment
        self._secrets = secrets

    def recognise(self, sender: str | None, shown: str | None, match_id: str = "-", attempt: int = 0) -> Speaker:
        """Who this is, by the token it shows for this match and attempt (or none: a broadcast)."""
        name, us = name_of(sender), self._enrolment
        if not us.derived_tokens:
            return Speaker(name, None, trusted=True)
        for key in self._keys():
            right = tokens.derive(key, name, us.agent_id, us.league_id, match_id, attempt)
            if tokens.same(shown, right):
                return Speaker(name, key, trusted=True)
        return Speaker(name, next(self._keys(), None), trusted=False)

    def for_referee(self, speaker: Speaker, match_id: str, attempt: int) -> str | None:
        """What a referee is shown: derived for it alone where our manager can tell it so, else our only token.

        Who did not prove to be that referee gets one that opens nothing: the right one would let it answer for us.
        """
        us = self._enrolment
        if speaker.key is None:
            return us.token
        receiver = speaker.id if speaker.trusted else f"{speaker.id}?"
        return tokens.derive(speaker.key, us.agent_id, receiver, us.league_id, match_id, attempt)

    def with_acknowledgement(self, speaker: Speaker, match_id: str = "-", attempt: int = 0) -> str | None:
        """What an acknowledgement shows: something only to those who proved who they are, since no document asks
        for it and anybody may send what is to be acknowledged."""
        if speaker.key is None or not speaker.trusted:
            return None
        if speaker.id == tokens.MANAGER:
            return self._enrolment.token
        return self.for_referee(speaker, match_id, attempt)

    def _keys(self) -> Iterator[str]:
        """K of our registrations, the newest first."""
        newest = self._enrolment.serial
        for serial in range(newest, max(newest - REGISTRATIONS, 0), -1):
            token = self._secrets.get(f"token/{serial}")
            if token is not None:
                yield tokens.deriver(token)


def name_of(sender: str | None) -> str:
    """The id in `sender`; all spellings of the manager are one."""
    word, _, name = (sender or "").partition(":")
    return tokens.MANAGER if word == tokens.MANAGER else name or word
