"""The orders of the operator: `league start`, `pause`, `resume`, `approve`, `reject`, `withdraw` and the others."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from league.cli.source import add_operator_options
from league.terminal import USAGE, Command, CommandError, add_json_option, examples, print_lines, print_result

if TYPE_CHECKING:
    from league.cli.pages import Pages

LOOKS, LOOK_AGAIN_S = 6, 1.0
"""Who did not answer the last probe is looked at again: the manager probes it after 2 seconds."""
PAUSES_S = (1.0, 2.0)
"""Before another try, when the manager says that it cannot now."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `done` is what to say when it was carried out; `target` names and explains its argument. With
    `every`, several targets may be given, or --all: it finds them and explains the option."""

    name: str
    help: str
    done: str
    examples: tuple[str, ...]
    note: str = ""
    target: tuple[str, str] | None = None
    every: tuple[Callable[[Pages], list[str]], str] | None = None
    objections: Callable[[Pages], list[str]] | None = None
    """What the operator should know before the order is given; with --anyway it is given all the same."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        if self.every is not None and self.target is not None:
            parser.add_argument("targets", metavar=self.target[0], nargs="*", help=self.target[1])
            parser.add_argument("--all", action="store_true", help=self.every[1])
        elif self.target is not None:
            parser.add_argument("target", metavar=self.target[0], help=self.target[1])
        if self.objections is not None:
            parser.add_argument("--anyway", action="store_true", help="also if somebody does not answer")
        add_operator_options(parser)
        add_json_option(parser)

    def run(self, args: argparse.Namespace) -> int:
        from league.cli.pages import Pages

        with closing(Pages(args.manager)) as pages:
            token = _token(args.state, pages)
            if self.every is not None:
                return self._give_all(pages, self._targets(args, pages), token, args.json)
            target: str | None = args.target if self.target else None
            if self.objections is not None:
                self._weigh(self.objections, pages, args.anyway)
            done = _give(pages, self.name, target, token)
        print_result(args.json, done, [self.done.format(target=target)])
        return 0

    def _weigh(self, look: Callable[[Pages], list[str]], pages: Pages, anyway: bool) -> None:
        from league.terminal.display import Style, paint

        objections = look(pages)
        for _ in range(0 if anyway else LOOKS):
            if not objections:
                return
            time.sleep(LOOK_AGAIN_S)
            objections = look(pages)
        if objections and not anyway:
            raise CommandError(f"{'; '.join(objections)}; to {self.name} all the same: league {self.name} --anyway")
        for one in objections:
            print_lines([f"{paint('warning:', Style.WARNING)} {one}"], sys.stderr)

    def _targets(self, args: argparse.Namespace, pages: Pages) -> list[str]:
        assert self.every is not None
        if bool(args.targets) == args.all:
            raise CommandError(f"say whom to {self.name}: one or more of them, or --all", USAGE)
        return self.every[0](pages) if args.all else list(dict.fromkeys(args.targets))

    def _give_all(self, pages: Pages, targets: Sequence[str], token: str, as_json: bool) -> int:
        """One after the other; what is refused for one does not keep it from the others."""
        done, failed = [], {}
        for target in targets:
            try:
                done.append(_give(pages, self.name, target, token))
            except CommandError as error:
                failed[target] = str(error)
        lines = [self.done.format(target=one["target"]) for one in done]
        if as_json or not failed:
            document = {"order": self.name, "done": done, "failed": failed}
            print_result(as_json, document, lines or ["Nobody waits for approval."])
            return 1 if failed else 0
        if lines:
            print_lines(lines)
        raise CommandError("; ".join(failed.values()))


def _who_is_silent(pages: Pages) -> list[str]:
    """Who does not answer: it may be too late once the league has started."""
    from league.cli.show import silence_in
    from league.terminal.tables import plain

    document = pages.json("/api/agents")
    agents = {one["agent_id"]: one for one in document["agents"]}
    return [
        plain(f'{one["role"]} {agent_id} "{one["display_name"]}" at {one["endpoint"]} is {silence}')
        for agent_id, silence in silence_in(document).items()
        if (one := agents[agent_id])
    ]


def _waiting(pages: Pages) -> list[str]:
    """Everybody who waits for approval."""
    return [one["applicant_id"] for one in pages.json("/api/agents")["applicants"]]


HERE = "--manager http://127.0.0.1:8000 --state league-data/my_league"
APPLICANT = ("AGENT", "its applicant id (A01), name or endpoint; several, if you like")
ORDERS = (
    Order(
        "start",
        "operator: start the league with whoever is registered",
        "The league starts.",
        ("league start", "league start --anyway", f"league start {HERE}"),
        "Everybody is probed every 5 seconds until then. If somebody does not answer, it says who and why, and starts\n"
        "only with --anyway.\n",
        objections=_who_is_silent,
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
        "operator: let agents in that wait for approval",
        "{target} is approved: its next registration is accepted.",
        (
            "league approve A01 A02",
            'league approve "Ann\'s player" --state league-data/my_league',
            "league approve --all",
        ),
        "`league agents` shows who waits. The agent becomes a member when it registers the next time.\n",
        APPLICANT,
        (_waiting, "everybody who waits now"),
    ),
    Order(
        "reject",
        "operator: turn agents away that wait for approval",
        "{target} is rejected: it is told so when it registers the next time.",
        ("league reject A01 A02", "league reject --all"),
        "`league agents` shows who was rejected; `league approve` lets one in after all.\n",
        APPLICANT,
        (_waiting, "everybody who waits now"),
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

    from league.terminal.tables import plain

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
