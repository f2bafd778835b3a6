"""What the operator's commands share: find the admin token, give the order, say what came of it."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from league.cli import CommandError, add_json_option, print_json
from league.cli.looking import USUAL

if TYPE_CHECKING:
    from league.cli.fetching import Pages

PAUSES_S = (1.0, 2.0)
"""Before another try, when the manager says that it cannot now."""


def configure(parser: argparse.ArgumentParser, example: str) -> None:
    """The options that say which manager, and by what right."""
    parser.epilog = f"{example}\nThe order needs the admin token of the manager, which is never on the command line."
    parser.add_argument("--manager", metavar="URL", help=f"a running manager (default: {USUAL})")
    parser.add_argument(
        "--state", metavar="DIR", help="the folder where the manager keeps its admin token (else: LEAGUE_ADMIN_TOKEN)"
    )
    add_json_option(parser)


def run(args: argparse.Namespace, order: str, told: str, target: str | None = None) -> int:
    """Give an order; `told` is what to say when it was carried out."""
    from league.cli.fetching import Pages

    pages = Pages(args.manager or USUAL)
    try:
        done = _give(pages, order, target, _token(args, pages))
    finally:
        pages.close()
    if args.json:
        print_json(done)
    else:
        print(told)
    return 0


def _token(args: argparse.Namespace, pages: Pages) -> str:
    from league.cli import admin_token
    from league.storage import urls
    from league.storage.notices import JournalError

    given = admin_token.given_to_command(args.state)
    if given is not None:
        return given
    league = pages.json("/api/league")
    try:
        folder = urls.default(str(league["league_id"])).path.parent
    except (JournalError, TypeError, KeyError) as error:
        raise CommandError(f"{pages.base} is no League Manager: it has no /api/league") from error
    return admin_token.kept_in(folder)


def _give(pages: Pages, order: str, target: str | None, token: str) -> dict[str, Any]:
    """One key for all tries: however often the order arrives, it is carried out once."""
    from uuid import uuid4

    from league.cli.tables import plain

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
