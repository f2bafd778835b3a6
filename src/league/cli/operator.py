"""`league start`, `pause`, `resume`, `approve`, `withdraw`, `replay-match`, `close`: the operator's orders."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from league.cli import Command, CommandError, add_json_option, examples, print_result
from league.cli.source import add_manager_option
from league.hosting.addresses import usual_manager

if TYPE_CHECKING:
    from league.cli.pages import Pages

PAUSES_S = (1.0, 2.0)
"""Before another try, when the manager says that it cannot now."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `done` is what to say when it was carried out; `target` names and explains its argument."""

    name: str
    help: str
    done: str
    examples: tuple[str, ...]
    note: str = ""
    target: tuple[str, str] | None = None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        if self.target is not None:
            parser.add_argument("target", metavar=self.target[0], help=self.target[1])
        add_manager_option(parser)
        parser.add_argument(
            "--state",
            metavar="DIR",
            help="the folder where the manager keeps its admin token (else: LEAGUE_ADMIN_TOKEN)",
        )
        add_json_option(parser)

    def run(self, args: argparse.Namespace) -> int:
        from league.cli.pages import Pages

        target: str | None = args.target if self.target else None
        with closing(Pages(args.manager or usual_manager())) as pages:
            done = _give(pages, self.name, target, _token(args.state, pages))
        print_result(args.json, done, [self.done.format(target=target)])
        return 0


HERE = "--manager http://127.0.0.1:8000 --state league-data/my_league"
ORDERS = (
    Order(
        "start",
        "operator: start the league with whoever is registered",
        "The league starts.",
        ("league start", f"league start {HERE}"),
    ),
    Order(
        "pause",
        "operator: let running matches finish and begin nothing new",
        "The league is paused: running matches finish, nothing new begins.",
        ("league pause", "LEAGUE_ADMIN_TOKEN=... league pause --manager http://127.0.0.1:8000"),
    ),
    Order(
        "resume",
        "operator: let a paused league, or one that waits for players, go on",
        "The league goes on.",
        ("league resume", f"league resume {HERE}"),
    ),
    Order(
        "approve",
        "operator: let an agent in that waits for approval",
        "{target} is approved: its next registration is accepted.",
        ("league approve A01", 'league approve "Ann\'s player" --state league-data/my_league'),
        "`league agents` shows who waits. The agent becomes a member when it registers the next time.\n",
        ("AGENT", "its applicant id (A01), name or endpoint"),
    ),
    Order(
        "withdraw",
        "operator: take a player out of the league",
        "{target} is withdrawn: its open matches are won by its opponents.",
        ("league withdraw P02", f"league withdraw P02 {HERE}"),
        "Its results stand; the matches it has not finished are won by its opponents.\n",
        ("PLAYER_ID", "the player, such as P02"),
    ),
    Order(
        "replay-match",
        "operator: void a match and play it again",
        "{target} is played again.",
        ("league replay-match R1M1", f"league replay-match R1M1 {HERE}"),
        "Nothing is erased: the void result stays in the journal. A parked match gets three more attempts.\n"
        "After the end, too, until the league is closed: agents that have stopped must be started again,\n"
        "without the journal that says it is over, and a referee with the enrolment key (--state DIR).\n",
        ("MATCH_ID", "the match, such as R1M1"),
    ),
    Order(
        "close",
        "operator: after the end, let nothing be played again",
        "The league is closed: its table is final.",
        ("league close", f"league close {HERE}"),
    ),
)
TOKEN = "The order needs the admin token of the manager, which is never on the command line."
COMMANDS = tuple(
    Command(one.name, one.help, examples(*one.examples, note=one.note + TOKEN), one.configure, one.run)
    for one in ORDERS
)


def _token(state: str | None, pages: Pages) -> str:
    """Given on the command line or by the environment; else that of a manager that was started here."""
    from league.hosting.kept_secrets import ADMIN_TOKEN
    from league.storage import urls
    from league.storage.notices import JournalError

    given = ADMIN_TOKEN.given_to_command(state)
    if given is not None:
        return given
    league = pages.json("/api/league")
    try:
        folder = urls.default(str(league["league_id"])).path.parent
    except (JournalError, TypeError, KeyError) as error:
        raise CommandError(f"{pages.base} is no League Manager: it has no /api/league") from error
    return ADMIN_TOKEN.kept_in(folder)


def _give(pages: Pages, order: str, target: str | None, token: str) -> dict[str, Any]:
    """One key for all tries: however often the order arrives, it is carried out once."""
    from uuid import uuid4

    from league.cli.terminal import plain

    path, document = f"/api/admin/{order}", {"target": target, "key": uuid4().hex}
    status, body = pages.post(path, document, token)
    for pause in PAUSES_S:
        if status != 503:
            break
        time.sleep(pause)
        status, body = pages.post(path, document, token)
    try:
        answer = json.loads(body)
        if status == 200 and answer["order"] == order:
            return dict(answer)
        said = " ".join(answer[name] for name in ("error_code", "error_name") if name in answer)
        sentence = f"{said}: {answer['error']}" if said else str(answer["error"])
    except (ValueError, TypeError, KeyError) as error:
        raise CommandError(f"{pages.base}{path} is no page of a League Manager (status {status})") from error
    raise CommandError(plain(sentence))
