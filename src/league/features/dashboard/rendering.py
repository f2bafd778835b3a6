"""Views become HTML. One renderer makes the first page, the changed pieces, the exported folder and `league view`.

Everything that others wrote (names, messages, reports) is escaped by the engine; on the way out (`finalize`) its
tokens are masked, and characters that turn or steer text become visible. A template never marks such text as safe:
only pieces that a macro of ours has rendered are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import jinja2
from jinja2 import ChoiceLoader, Environment, FileSystemBytecodeCache, FileSystemLoader, PackageLoader, StrictUndefined
from markupsafe import Markup

from league.features.dashboard.sections import Parts, section_rows
from league.features.dashboard.views.charts import points_chart
from league.features.dashboard.views.league_view import FormMark, LeagueView
from league.protocol.order_table import PLAIN_ORDERS
from league.protocol.safe_text import steady, without_tokens
from league.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.bccache import Bucket

    from league.features.dashboard.views.match_view import MatchPage
    from league.features.dashboard.views.player_view import PlayerPage

_FOLDER: Final = Path(__file__).parent
ASSETS: Final[Mapping[str, str]] = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "feed.js": "text/javascript; charset=utf-8",
    "proof.js": "text/javascript; charset=utf-8",
    "board.js": "text/javascript; charset=utf-8",
    "operator.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files beside the pages, with their media types."""
MARKS: Final = 1 << 15
"""A league of a hundred players has some ten thousand marks: each is rendered once."""


Lists = Mapping[str, Iterable[str]]
"""The rendered pieces of the league page, by list."""


def asset(name: str) -> bytes:
    """The content of a file beside the pages."""
    return (_FOLDER / "assets" / name).read_bytes()


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of the pages: `root` leads to the league page. In an exported folder pages are files."""

    root: str = "/"
    to_files: bool = False

    @property
    def league(self) -> str:
        if self.to_files:
            return f"{self.root}index.html"
        return self.root

    def round(self, round_id: int) -> str:
        """The league after that round."""
        if self.to_files:
            return f"{self.root}round/{round_id}.html"
        return f"{self.root}?round={round_id}"

    def match(self, match_id: str) -> str:
        return f"{self.root}match/{self._page(match_id)}"

    def player(self, player_id: str) -> str:
        return f"{self.root}player/{self._page(player_id)}"

    def asset(self, name: str) -> str:
        return f"{self.root}assets/{name}"

    def _page(self, name: str) -> str:
        page = file_of(name) if self.to_files else name
        return quote(page, safe="")


def file_of(name: str) -> str:
    """The file of a match or player in an exported folder."""
    return f"{quote(name, safe='')}.html"


SITE: Final = Links("", to_files=True)
"""The links of the league page in an exported folder."""
SITE_BELOW: Final = Links("../", to_files=True)
"""The links of the pages in its subfolders."""


def parts_of(view: LeagueView) -> Parts:
    """The league page in pieces that are rendered, compared and sent one by one."""
    parts: dict[str, Mapping[str, object]] = {
        "announcement": {"announcement-now": view.progress.announcement},
        "progress": {"progress-now": view.progress},
        "history": {"history-now": view.history} if view.history else {},
        "standings": {f"standing-{row.player.agent_id}": row for row in view.standings},
        "notes": {"notes-now": view.notes},
        "checks": {"checks-now": view.checks},
        "matches": {f"match-{match.match_id}": match for match in view.matches},
        "live": {f"live-{play.match_id}": play for play in view.live},
        "coming": {f"coming-{match.match_id}": match for match in view.coming},
        "chart": {"chart-now": view.chart},
        "columns": {"columns-now": view.columns} if view.cross else {},
        "cross": {f"cross-{row.player.agent_id}": row for row in view.cross},
        "applicants": {f"applicant-{applicant.applicant_id}": applicant for applicant in view.applicants},
        "agents": {f"agent-{row.agent.agent_id}": row for row in view.agents},
    }
    for section in view.sections:
        parts |= section.parts
    return parts


def _harmless(value: object) -> object:
    """A value as a page shows it."""
    # Markup of ours is a subclass of str, and harmless already.
    if type(value) is not str:
        return value
    return steady(without_tokens(value))


class _CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates, kept where Python keeps compiled modules: to compile them takes half of the first page."""

    def __init__(self) -> None:
        folder = Path(cache_from_source(str(_FOLDER / "templates.py"))).parent
        # What is compiled depends on the template, and on the engine and its options.
        super().__init__(str(folder), f"templates-{__version__}-{jinja2.__version__}-%s")

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):  # a folder that nobody may write to, or that is not there
                super().dump_bytecode(bucket)


class Renderer:
    """HTML with these links. A name that is missing in a template is an error."""

    def __init__(self, links: Links) -> None:
        sections = [PackageLoader(row.templates) for row in section_rows()]
        self._engine = Environment(
            loader=ChoiceLoader([FileSystemLoader(_FOLDER / "templates"), *sections]),
            autoescape=True,
            bytecode_cache=_CompiledTemplates(),
            undefined=StrictUndefined,
            finalize=_harmless,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._engine.globals["links"] = links
        self._engine.globals["points_chart"] = points_chart
        self._engine.globals["mark"] = lru_cache(MARKS)(self._mark)

    def _mark(self, mark: FormMark) -> Markup:
        return Markup(self._parts.mark_link(mark))

    @cached_property
    def _parts(self) -> Any:  # Any: the macros of a template are its attributes
        return self._template("parts.html").module

    def _template(self, name: str) -> Template:
        return self._engine.get_template(name)

    def part(self, list_id: str, data: object) -> str:
        """One piece of the league page, rendered by the macro with the name of its list."""
        # Ours come first: no section can replace a piece of the page.
        for module in (self._parts, *self._section_parts):
            macro = getattr(module, list_id, None)
            if macro is not None:
                return str(macro(data)).strip()
        raise LookupError(f"no template has a macro {list_id!r}")

    @cached_property
    def _section_parts(self) -> tuple[Any, ...]:  # Any: as above
        return tuple(self._template(f"{row.view}_parts.html").module for row in section_rows())

    def league(self, view: LeagueView, lists: Lists | None = None, position: str = "") -> str:
        """The league page; `lists` are its pieces if they are rendered already, `position` where its feed goes on."""
        if lists is None:
            lists = {}
            for name, part in parts_of(view).items():
                pieces = [self.part(name, data) for data in part.values()]
                lists[name] = pieces
        template = self._template("league.html")
        return template.render(view=view, lists=lists, position=position, orders=PLAIN_ORDERS)

    def match(self, page: MatchPage, position: str = "") -> str:
        template = self._template("match.html")
        return template.render(page=page, match=page.explanation, position=position)

    def player(self, page: PlayerPage) -> str:
        return self._template("player.html").render(page=page)

    def missing(self, sentence: str) -> str:
        """The page that says why there is no such page."""
        return self._template("missing.html").render(sentence=sentence)
