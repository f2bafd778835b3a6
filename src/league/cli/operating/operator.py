"""The orders of the operator: `league start`, `pause`, `resume`, `approve`, `reject`, `withdraw` and the others."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.cli.source import add_operator_options
from league.hosting.manager.order_table import ORDER_TABLE, OrderRow
from league.terminal import USAGE, Command, CommandError, add_json_option, examples, print_lines, print_result

if TYPE_CHECKING:
    from league.cli.pages import Pages

LOOKS = 6
LOOK_AGAIN_S = 1.0
"""The pause before another look at an agent that did not answer: the manager probes it again after 2 seconds."""
PAUSES_S = (1.0, 2.0)
"""Pauses before another try, if the manager answers that it cannot take orders now."""


@dataclass(frozen=True, slots=True)
class OrderCommand:
    """An order as a command. `done` is printed when the order was carried out.

    With `finds_all`, several targets may be given, or --all, and it finds them.
    """

    row: OrderRow
    done: str
    examples: tuple[str, ...]
    note: str = ""
    finds_all: Callable[[Pages], list[str]] | None = None
    objections: Callable[[Pages], list[str]] | None = None
    """Finds reasons not to give the order. With --anyway it is given all the same."""

    @property
    def name(self) -> str:
        return self.row.name

    def command(self) -> Command:
        text = examples(*self.examples, note=self.note + TOKEN)
        return Command(self.name, f"operator: {self.row.about}", text, self.configure, self.run)

    def configure(self, parser: argparse.ArgumentParser) -> None:
        if self.finds_all is not None:
            parser.add_argument("targets", metavar=self.row.placeholder, nargs="*", help=self.row.target)
            parser.add_argument("--all", action="store_true", help="all agents that wait now")
        elif self.row.target:
            parser.add_argument("target", metavar=self.row.placeholder, help=self.row.target)
        if self.objections is not None:
            parser.add_argument("--anyway", action="store_true", help="even if an agent does not answer")
        add_operator_options(parser)
        add_json_option(parser)

    def run(self, args: argparse.Namespace) -> int:
        from league.cli.pages import Pages

        with closing(Pages(args.manager)) as pages:
            token = admin_token(args.state, pages)
            if self.finds_all is not None:
                return self._give_all(pages, self._targets(args, pages), token, args.json)
            target: str | None = args.target if self.row.target else None
            if self.objections is not None:
                self._weigh(self.objections, pages, args.anyway)
            answer = give(pages, self.name, target, token)
        print_result(args.json, answer, [self.done.format(target=target)])
        return 0

    def _weigh(self, look: Callable[[Pages], list[str]], pages: Pages, anyway: bool) -> None:
        from league.terminal.display import Style, paint

        objections = look(pages)
        if not anyway:
            # An agent may only have been slow, so it gets a few more chances to answer a probe.
            for _ in range(LOOKS):
                if not objections:
                    return
                time.sleep(LOOK_AGAIN_S)
                objections = look(pages)
        if objections and not anyway:
            raise CommandError(f"{'; '.join(objections)}; use league {self.name} --anyway to {self.name} all the same")
        for objection in objections:
            print_lines([f"{paint('warning:', Style.WARNING)} {objection}"], sys.stderr)

    def _targets(self, args: argparse.Namespace, pages: Pages) -> list[str]:
        assert self.finds_all is not None
        if bool(args.targets) == args.all:
            raise CommandError(f"name the agents to {self.name}, or use --all", USAGE)
        if args.all:
            return self.finds_all(pages)
        return list(dict.fromkeys(args.targets))  # each once, in the order typed

    def _give_all(self, pages: Pages, targets: Sequence[str], token: str, as_json: bool) -> int:
        """Give the order for each target; a refusal for one does not stop the others."""
        answers = []
        failures: dict[str, str] = {}
        for target in targets:
            try:
                answers.append(give(pages, self.name, target, token))
            except CommandError as error:
                failures[target] = str(error)
        lines = [self.done.format(target=answer["target"]) for answer in answers]
        # With --json the failures are part of the document, otherwise they become the error.
        if as_json or not failures:
            document = {"order": self.name, "done": answers, "failed": failures}
            print_result(as_json, document, lines or ["Nobody waits for approval."])
            return 1 if failures else 0
        if lines:
            print_lines(lines)
        raise CommandError("; ".join(failures.values()))


def _missing_agents(pages: Pages) -> list[str]:
    """A sentence for each agent that does not answer or is not in: after the start it may be too late."""
    from league.cli.show import silence_in
    from league.terminal.tables import plain

    document = pages.json("/api/agents")
    agents = {agent["agent_id"]: agent for agent in document["agents"]}
    sentences = [_about(agents[agent_id], agent_id, silence) for agent_id, silence in silence_in(document).items()]
    for applicant in document["applicants"]:
        applicant_id = applicant["applicant_id"]
        choice = f"league approve {applicant_id} or league reject {applicant_id}"
        sentences.append(_about(applicant, applicant_id, f"waiting for approval ({choice})"))
    sentences += [
        _about(applicant, applicant["applicant_id"], "approved, but has not registered since")
        for applicant in document["approved"]
    ]
    return list(map(plain, sentences))


def _about(agent: Mapping[str, Any], agent_id: str, state: str) -> str:
    return f'{agent["role"]} {agent_id} "{agent["display_name"]}" at {agent["endpoint"]} is {state}'


def _waiting(pages: Pages) -> list[str]:
    """All applicants that wait for approval."""
    return [applicant["applicant_id"] for applicant in pages.json("/api/agents")["applicants"]]


HERE = "--manager http://127.0.0.1:8000 --state league-data/my_league"
TOKEN = "The order needs the manager's admin token, which is never given on the command line."
_ROWS = {row.name: row for row in ORDER_TABLE}
ORDERS = (
    OrderCommand(
        _ROWS["start"],
        "The league starts.",
        ("league start", "league start --anyway", f"league start {HERE}"),
        "All agents are probed every 5 seconds until then. If one does not answer, waits for approval, or has\n"
        "not registered since its approval, the command says which and why; --anyway starts the league all the same.\n",
        objections=_missing_agents,
    ),
    OrderCommand(
        _ROWS["pause"],
        "The league is paused: running matches finish, but no new ones start.",
        ("league pause", "LEAGUE_ADMIN_TOKEN=... league pause --manager http://127.0.0.1:8000"),
    ),
    OrderCommand(_ROWS["resume"], "The league goes on.", ("league resume", f"league resume {HERE}")),
    OrderCommand(
        _ROWS["approve"],
        "{target} is approved: its next registration is accepted.",
        (
            "league approve A01 A02",
            'league approve "Ann\'s player" --state league-data/my_league',
            "league approve --all",
        ),
        "`league agents` shows which agents wait. An approved agent becomes a member when it registers again.\n",
        finds_all=_waiting,
    ),
    OrderCommand(
        _ROWS["reject"],
        "{target} is rejected: its next registration is refused.",
        ("league reject A01 A02", "league reject --all"),
        "`league agents` shows rejected agents; `league approve` lets one in after all.\n",
        finds_all=_waiting,
    ),
    OrderCommand(
        _ROWS["readmit"],
        "{target} may come back from any address: start it with the name it had.",
        ("league readmit P07", 'league readmit "Ann\'s player" --state league-data/my_league'),
        "The next registration with this name counts as this agent, so tell its owner to start it now.\n"
        "It keeps its id, points and matches; the tokens of its old registration stop working.\n",
    ),
    OrderCommand(
        _ROWS["withdraw"],
        "{target} is withdrawn: its open matches are won by its opponents.",
        ("league withdraw P02", f"league withdraw P02 {HERE}"),
        "Its results stand; the matches it has not finished are won by its opponents.\n",
    ),
    OrderCommand(
        _ROWS["replay-match"],
        "{target} is played again.",
        ("league replay-match R1M1", f"league replay-match R1M1 {HERE}"),
        "Nothing is erased: the void result stays in the journal. A parked match gets three more attempts.\n"
        "This also works after the end, until the league is closed. Agents that have stopped must be started again,\n"
        "without the journal of the finished league, and a referee with the enrolment key (--state DIR).\n",
    ),
    OrderCommand(_ROWS["close"], "The league is closed: its table is final.", ("league close", f"league close {HERE}")),
)
COMMANDS = tuple(order.command() for order in ORDERS)


def admin_token(state: str | None, pages: Pages) -> str:
    """The admin token: from the command line or the environment, otherwise that of a manager started here."""
    from league.hosting.manager.kept_secrets import ADMIN_TOKEN

    token = ADMIN_TOKEN.given_to_command(state)
    if token is not None:
        return token
    return ADMIN_TOKEN.kept_in(usual_folder(pages))


def usual_folder(pages: Pages) -> Path:
    """The folder, with the league's name, in which a manager with default options keeps its secrets."""
    from league.storage import urls
    from league.storage.notices import JournalError

    league = pages.json("/api/league")
    try:
        return urls.default(str(league["league_id"])).path.parent
    except (JournalError, TypeError, KeyError) as error:
        raise CommandError(f"{pages.base} is not a League Manager: it has no /api/league") from error


def give(pages: Pages, order: str, target: str | None, token: str, **fields: str) -> dict[str, Any]:
    """Give an order. All tries have the same key, so an order that arrives twice is carried out once."""
    from uuid import uuid4

    from league.terminal.tables import plain

    path = f"/api/admin/{order}"
    document = {"target": target, "key": uuid4().hex, **fields}
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
        code = " ".join(answer[name] for name in ("error_code", "error_name") if name in answer)
        sentence = f"{code}: {answer['error']}" if code else str(answer["error"])
    except (ValueError, TypeError, KeyError) as error:
        raise CommandError(f"{pages.base}{path} is not a page of a League Manager (status {status})") from error
    raise CommandError(plain(sentence))
