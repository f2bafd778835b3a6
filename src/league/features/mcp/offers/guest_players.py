"""Players of assistants that know only the manager's address: `join`, `next_turn`, `answer_turn` at the manager.

Theory of operation. `join` makes a player in this process, with a journal beside the manager's, and returns its key.
The player registers like any other and plays through a mailbox, so the league knows nothing special about it. Whoever
shows the key answers its turns. The key's digest names the journal: after a restart of the manager the player comes
back when its key is shown again.

What must never happen: that somebody plays for a player without its key, or that guests take the places of a process
without bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from league.agent.sources import chance
from league.features.mcp.offers.offered_turns import TURN_SCHEMAS, OfferedTurns, TurnTools
from league.features.mcp.tables import McpCaller, Object, ToolRow, string, structured, taking
from league.hosting.member import players
from league.hosting.member.players import Entrant
from league.hosting.serving import HostedAgent
from league.hosting.settings.player_options import PlayerOptions
from league.mailbox.addresses import name_of
from league.manager.league_manager import LeagueManager
from league.player.competitor import Competitor
from league.protocol.errors import PeerError

FOLDER: Final = "guests"
MOST: Final = 100
JOIN_S: Final = 15.0
_KEY: Final = string("the player_key that join returned")
_JOIN: Final = taking("name", name=string("the player's name, which must be unique in the league"))
_JOIN_ABOUT: Final = (
    "Enters you as a player of this league, for assistants that have no player of their own. Returns your player_key: "
    "keep it, and show it to nobody but next_turn and answer_turn."
)


@dataclass(slots=True)
class AssistantPlayer:
    """A player of an assistant."""

    turns: OfferedTurns = field(default_factory=OfferedTurns)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[int] | None = None
    host: HostedAgent | None = None

    @property
    def machine(self) -> Competitor | None:
        if self.host is None or self.host.agent is None:
            return None
        return cast(Competitor, self.host.agent.machine)


class GuestPlayers:
    """The guests of a manager."""

    def __init__(self, host: HostedAgent) -> None:
        self._host = host
        self._guests: dict[str, AssistantPlayer] = {}

    def tools(self) -> tuple[ToolRow, ...]:
        """Return the tools for assistants that play."""
        next_turn, answer_turn = TURN_SCHEMAS
        return (
            ToolRow("join", "Join the league", _JOIN_ABOUT, _JOIN, self.join),
            ToolRow("next_turn", "Next turn", next_turn.about, _with_key(next_turn.schema), self.next_turn),
            ToolRow("answer_turn", "Answer a turn", answer_turn.about, _with_key(answer_turn.schema), self.answer_turn),
        )

    async def join(self, _: McpCaller, arguments: Object) -> dict[str, Any]:
        """Make a player, and wait until the manager has taken it or refused it (Any: a result as MCP defines it)."""
        if sum(guest.task is not None and not guest.task.done() for guest in self._guests.values()) >= MOST:
            raise PeerError("E020", f"{MOST} assistants play here already: start a player of your own")
        key = chance(24).hex()
        guest = self._begin(key, str(arguments["name"]))
        try:
            async with asyncio.timeout(JOIN_S):
                said = await self._registered(guest)
        except PeerError:
            guest.stop.set()
            self._file(key, "name").unlink()
            raise
        except TimeoutError:
            said = "not registered yet: the operator may have to approve"
        return structured({"player_key": key, "message": f"{said}. Call next_turn with your player_key."})

    async def next_turn(self, caller: McpCaller, arguments: Object) -> dict[str, Any]:
        """Wait for a turn (Any: a result as MCP defines it; so below)."""
        guest, rest = self._guest(arguments)
        return await TurnTools(guest.turns, None).next_turn(caller, rest)

    async def answer_turn(self, caller: McpCaller, arguments: Object) -> dict[str, Any]:
        guest, rest = self._guest(arguments)
        return await TurnTools(guest.turns, None).answer_turn(caller, rest)

    # --- guests -------------------------------------------------------------------------------------------------------

    def _guest(self, arguments: Object) -> tuple[AssistantPlayer, Mapping[str, Any]]:
        rest = dict(arguments)
        key = str(rest.pop("player_key"))
        guest = self._guests.get(name_of(key))
        if guest is None:
            name = self._file(key, "name")
            if not name.is_file():
                raise PeerError("E012", "there is no player with this player_key: join makes one")
            guest = self._begin(key, name.read_text("utf-8"))
        return guest, rest

    def _file(self, key: str, ending: str) -> Path:
        assert self._host.state is not None, "a manager has a folder"
        return self._host.state / FOLDER / f"{name_of(key)}.{ending}"

    def _begin(self, key: str, name: str) -> AssistantPlayer:
        guest = self._guests[name_of(key)] = AssistantPlayer()
        machine = self._host.running.machine
        assert isinstance(machine, LeagueManager)
        game = machine.ledger.settings.game_type
        options = PlayerOptions(
            manager=self._host.endpoint,
            name=name,
            game=game,
            outbound=True,
            journal=str(self._file(key, "db")),
            quiet=True,
        )
        file = self._file(key, "name")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(name, "utf-8")

        def ready(host: HostedAgent) -> None:
            guest.host = host

        entrant = Entrant(guest.turns, "Guest", name=name, games=(game,))
        guest.task = asyncio.create_task(players.serve(options, [entrant], guest.stop, ready))
        return guest

    async def _registered(self, guest: AssistantPlayer) -> str:
        assert guest.task is not None, "it was begun"
        while not guest.task.done():
            machine = guest.machine
            if machine is None or guest.host is None:
                await asyncio.sleep(0)
                continue
            if machine.rejected is not None:
                raise PeerError(machine.rejected.code or "E023", machine.rejected.detail)
            if machine.agent_id:
                return f"you are {machine.agent_id}"
            changed = guest.host.running.changed
            changed.clear()
            await changed.wait()
        raise PeerError("E023", "the player could not be started")


def _with_key(schema: Object) -> Object:
    required = ("player_key", *schema.get("required", ()))
    return taking(*required, player_key=_KEY, **schema["properties"])
