"""`league rotate-token`: replace the admin token or the enrolment key of a league.

The command makes the new secret and sends it with the order, so it knows the secret even if the answer is lost. If the
old admin token is refused when the order is sent again, the new one shows whether the order was carried out. Without a
running manager the secret is replaced in the journal itself, under the journal's lock.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from league.cli.operating.operator import admin_token, give, help_of, usual_folder
from league.cli.source import add_operator_options, journal_errors
from league.protocol.order_table import ORDERS
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result

if TYPE_CHECKING:
    from league.cli.pages import Pages
    from league.events import LeagueCreated
    from league.hosting.manager.kept_secrets import KeptSecret
    from league.machine import Entry
    from league.storage.group_commit import KeptJournal

ORDER: Final = "rotate-token"
TARGETS = ("admin", "enrolment")
STORE_S = 30.0


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "secret",
        nargs="?",
        choices=TARGETS,
        default="admin",
        help="the admin token or the enrolment key (default: admin)",
    )
    add_operator_options(parser)
    parser.add_argument("--journal", metavar="URL", help="the journal of a manager that is not running")
    add_json_option(parser)


def _rotate(args: argparse.Namespace) -> int:
    from league.hosting.manager.kept_secrets import ROTATABLE

    if args.manager and args.journal:
        raise CommandError("give --manager or --journal, not both", USAGE)
    kept = ROTATABLE[args.secret]
    secret = kept.make()
    answer: dict[str, Any] = {"order": ORDER, "target": args.secret}
    if args.journal:
        folder = _replace_in_journal(args.journal, args.secret, secret)
    else:
        from league.cli.pages import Pages

        with closing(Pages(args.manager)) as pages:
            token = admin_token(args.state, pages)
            folder = usual_folder(pages)
            answer = _give(pages, args.secret, token, secret)
    if args.state:
        folder = Path(args.state)
    # On the manager's machine this is the file that the manager has written too.
    if kept.found_in(folder) != secret:
        kept.keep(folder, secret)
    kept.tell_at_terminal(secret)
    file = folder / kept.file
    print_result(args.json, {**answer, "file": str(file)}, _lines(kept, file))
    return 0


def _lines(kept: KeptSecret, file: Path) -> list[str]:
    lines = [f"The {kept.name} is replaced. The new one is in {file}, for your eyes only."]
    if os.environ.get(kept.variable):
        lines.append(f"{kept.variable} holds the old one: change it where it is set.")
    return lines


def _give(pages: Pages, target: str, token: str, secret: str) -> dict[str, Any]:
    key = uuid4().hex
    try:
        return give(pages, ORDER, target, token, key=key, secret=secret)
    except CommandError as error:
        if target != "admin":
            raise
        try:
            # The order may have been carried out although its answer was lost: then only the new token counts.
            return give(pages, ORDER, target, secret, key=key, secret=secret)
        except CommandError:
            raise error from None


# --- without a manager ------------------------------------------------------------------------------------------------


def _replace_in_journal(location: str, target: str, secret: str) -> Path:
    """Replace a secret in the journal of a manager; return the folder where the manager would keep it."""
    from league.reading.journals import manager_place
    from league.storage import urls
    from league.storage.formats import FORMAT
    from league.storage.notices import JournalInUseError, WriteFailed
    from league.storage.opening import open_for_writing, stored_format

    with journal_errors():
        place = manager_place(urls.parse(location))
        if stored_format(place) != FORMAT:
            raise CommandError(f"{place} has an older format; run league migrate first")
        notices: SimpleQueue[object] = SimpleQueue()
        try:
            with open_for_writing(place, notices.put, identity={"role": "manager"}) as journal:
                league_id = _league_in(journal).settings.league_id
                journal.append(_entry(journal.secrets(), target, secret))
                notice = notices.get(timeout=STORE_S)
        except JournalInUseError as error:
            raise CommandError(f"{error}; give the order to that manager with --manager") from error
        if isinstance(notice, WriteFailed):
            raise CommandError(f"{notice.error}; nothing was changed")
        return place.folder or urls.default(league_id).path.parent


def _entry(secrets: Mapping[str, str], target: str, secret: str) -> Entry:
    from league.events import OrderCarriedOut
    from league.machine import Entry
    from league.manager.members.secret_rotation import ROTATABLE, replacement

    event = OrderCarriedOut(at=time.time(), order=ORDER, target=target, key=uuid4().hex)
    return Entry((event,), replacement(secrets, ROTATABLE[target], secret))


def _league_in(journal: KeptJournal) -> LeagueCreated:
    from league.events import LeagueCreated

    first = next(journal.events(), None)
    if not isinstance(first, LeagueCreated):
        raise CommandError(f"there is no league in {journal.place} yet")
    return first


COMMANDS = (Command(ORDER, f"operator: {ORDERS[ORDER].about}", help_of(ORDERS[ORDER]), _configure, _rotate),)
