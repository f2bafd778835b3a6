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
from league.protocol.order_table import PLAIN_ORDERS, OrderRow
from league.terminal import USAGE, Command, CommandError, add_json_option, examples, print_lines, print_result

if TYPE_CHECKING:
    from league.cli.pages import Pages

LOOKS = 6
LOOK_AGAIN_S = 1.0
"""The pause before another look at an agent that did not answer: the manager probes it again after 2 seconds."""
PAUSES_S = (1.0, 2.0)
"""Pauses before another try, if the manager answers that it cannot take orders now."""
TOKEN = "The order needs the manager's admin token, which is never given on the command line."


def help_of(row: OrderRow) -> str:
    """Examples and notes for the help of an order's command."""
    return examples(*row.examples, note=row.note + TOKEN)


@dataclass(frozen=True, slots=True)
class OrderCommand:
    """An order as a command. With `finds_all`, several targets may be given, or --all, and it finds them."""

    name: str
    row: OrderRow
    finds_all: Callable[[Pages], list[str]] | None
    objections: Callable[[Pages], list[str]] | None
    """Finds reasons not to give the order. With --anyway it is given all the same."""

    def command(self) -> Command:
        return Command(self.name, f"operator: {self.row.about}", help_of(self.row), self.configure, self.run)

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
        print_result(args.json, answer, [self.row.done.format(target)])
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
        lines = [self.row.done.format(answer["target"]) for answer in answers]
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
    waiting = [f'{row["role"]} {row["applicant_id"]} "{row["display_name"]}"' for row in document["applicants"]]
    if waiting:
        sentences.append(
            f"waiting for approval: {', '.join(waiting)} (league approve or league reject, by their ids or --all)"
        )
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


FINDS_ALL = {"approve": _waiting, "reject": _waiting}
OBJECTIONS = {"start": _missing_agents}
COMMANDS = tuple(
    OrderCommand(name, row, finds_all=FINDS_ALL.get(name), objections=OBJECTIONS.get(name)).command()
    for name, row in PLAIN_ORDERS.items()
)


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
