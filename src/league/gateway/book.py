"""The book of peers: in which form each peer is called, and how that is found out (R-02, spec section 13.1).

A form is an endpoint and a calling convention. A line searches the forms of one delivery, from the likeliest on:

    trying a form ──▶ understood: journalled, if it is news; later deliveries begin with this form
          │      └──▶ acknowledged, and nothing followed: the next form soon, but this one is what to come back to
          └─────────▶ not understood: ruled out, the next form

After a failed attempt the search begins again, with the forms that are not ruled out. "Understood and refused" ends a
search like an answer does. The engine tells a line what happened, and nobody else changes it.

What must never happen: a player that understood a call for its choice gets it again in another form. So a line for a
choice goes on only after "no such method". Nor is a convention journalled twice, or learned from a page that takes one
kind of message alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, structs

from league.calling.delivery import Interpretation
from league.calling.line import PLAIN, Book, Conventions, Line, Purpose, Sign
from league.events import ConventionLearned, Event, Registered
from league.gateway import forms
from league.machine import Address, DialectProbe, Ping
from league.protocol.conventions import WAYS, Convention, convention_of
from league.protocol.message.findings import Findings
from league.protocol.signing.tokens import MANAGER

PATIENCE_S: Final = 1.0
"""How long an acknowledgement in a form that is not proven may be followed by the answer (R-02)."""
REGISTER_PATH: Final = "/register"
"""Some managers take registrations, and nothing else, as a bare object here."""
RUN_MATCH_PATH: Final = "/run_match"
"""Some referees take a match as a bare object here."""
_BY_ENDPOINT: Final = frozenset({Purpose.INVITE, Purpose.CHOOSE})
"""What a referee learns of players belongs to their endpoints: it knows nothing else of them."""
_LEARNING: Final = frozenset({Purpose.TELL, Purpose.INVITE, Purpose.START})


class Form(Struct, frozen=True):
    """Where and how a call is made."""

    endpoint: str
    convention: Convention


@lru_cache(maxsize=1024)
def forms_of(endpoint: str, first: Convention) -> tuple[Form, ...]:
    """Return every way to call an endpoint, the likeliest first."""
    return tuple(Form(endpoint, convention) for convention in WAYS[first])


def page(endpoint: str, path: str) -> Form:
    """Return the form of a page on the same server that takes one kind of message, as a bare object."""
    return Form(forms.at_path(endpoint, path), Convention.BARE)


class FormLine(Struct, Line, eq=False):
    """The search for the form that one delivery is understood in."""

    candidates: tuple[Form, ...]
    home: str
    """The peer's endpoint when the search began. A call goes to where the peer is now."""
    is_proven: bool = False
    is_harmless: bool = True
    """True if the message may arrive twice; if not, only "no such method" leads to the next form."""
    learns: bool = False
    learn: Callable[[Form, float], None] = lambda *_: None
    """Told the form that was understood, if the line learns."""
    pause_s: float = 0.0
    verdict: Interpretation | None = None
    """The answer to the first form that was not understood, or to the one that was said most about."""
    _untried: tuple[Form, ...] = ()
    """The form of the next call, and those not tried yet; empty: all candidates."""
    _left: tuple[Form, ...] = ()
    """The forms of earlier calls, which may still be answered."""
    _ruled_out: frozenset[Form] = frozenset()
    _noticed: Form | None = None
    """The first form that was acknowledged, or else refused for more than its form."""
    _was_acknowledged: bool = False
    _was_told_more: bool = False

    @property
    def form(self) -> Form:
        """The form of the next call."""
        return (self._untried or self.candidates)[0]

    @property
    def _best(self) -> Form:
        """The form to come back to: the one that was said most about, or else the likeliest."""
        return self._noticed or self.candidates[0]

    def answering_form(self, convention: Convention) -> Form:
        """Return the form that was answered by a request of this convention."""
        # A request is named after its message in every framed convention: only a missing frame tells anything.
        if convention is Convention.BARE:
            for form in (self.form, *self._left):
                if form.convention is convention:
                    return form
        if self._was_acknowledged:
            return self._best
        return self.form

    def routed(self, address: Address) -> Address:
        return self._in_form(self.form, address)

    def likeliest(self, address: Address) -> Address:
        return self._in_form(self._best, address)

    def _in_form(self, form: Form, address: Address) -> Address:
        if form.convention is address.convention and form.endpoint == address.endpoint:
            return address
        endpoint = form.endpoint
        if endpoint == self.home:
            endpoint = address.endpoint
        return structs.replace(address, endpoint=endpoint, convention=form.convention)

    def understood_by_request(self, convention: Convention, now: float) -> None:
        form = self.answering_form(convention)
        self.learn(form, now)
        # If the answer was wrong, the peer is called again. Meanwhile other forms may have been tried.
        self._left += (self.form,)
        self._untried = (form,)

    def understood(self, to: Address, now: float) -> None:
        if to.endpoint == self.home or any(form.endpoint == to.endpoint for form in self.candidates):
            self.learn(Form(to.endpoint, to.convention), now)
        else:
            self.learn(Form(self.home, to.convention), now)  # it has moved

    def acknowledged(self) -> float | None:
        if not self._was_acknowledged:
            self._was_acknowledged = True
            self._noticed = self.form
        has_next = len(self._untried or self.candidates) > 1
        if self.is_proven or not has_next:
            return None
        # Some acknowledge what they do not know, so the next form is tried soon.
        return PATIENCE_S

    def next_form(self, sign: Sign, verdict: Interpretation | None, tells_more: bool) -> float | None:
        # An answer without JSON-RPC may be an answer all the same: then the player has read the call.
        if sign is Sign.NOT_JSON_RPC and not self.is_harmless:
            return None
        # A form whose connection broke may just have been unlucky: it is not ruled out.
        if sign is not Sign.HUNG_UP:
            self._note_misunderstanding(verdict, tells_more)
        self.verdict = self.verdict or verdict
        untried = (self._untried or self.candidates)[1:]
        if sign is Sign.NOT_JSON_RPC:
            # An agent that answers without a frame probably wants the message without one.
            bare_first = sorted(
                untried,
                key=lambda form: form.convention is not Convention.BARE,
            )
            untried = tuple(bare_first)
        if not untried:
            return None
        self._left += (self.form,)
        self._untried = untried
        return self.pause_s

    def _note_misunderstanding(self, verdict: Interpretation | None, tells_more: bool) -> None:
        if not self._was_acknowledged or self.form is not self._best:
            self.rule_out()
        if tells_more and not (self._was_told_more or self._was_acknowledged):
            self._was_told_more = True
            self._noticed = self.form
            self.verdict = verdict

    def rule_out(self) -> None:
        self._ruled_out |= {self.form}

    def begin_again(self) -> None:
        # The form that was tried last comes early: its answer may still be on its way.
        order = dict.fromkeys((self._best, self.form, *self.candidates))
        possible = tuple(form for form in order if form not in self._ruled_out)
        self._left += (self.form,)
        self._untried = possible or (self._best,)
        self.verdict = None

    def forget(self) -> None:
        self._ruled_out = frozenset()
        self._noticed = None
        self._was_acknowledged = False
        self._was_told_more = False
        self.begin_again()
        self._left = ()


class PeerBook(Book):
    """The conventions of a role's peers, and the lines to them. The manager's roster is its journalled memory; the
    book of a referee or player keeps what events say. Under the strict profile every line is plain."""

    def __init__(
        self,
        happened: Callable[[Event], None],
        is_strict: Callable[[], bool],
        roster: Conventions | None = None,
        /,
    ) -> None:
        self._happened = happened
        self._is_strict = is_strict
        self._learned: dict[str, Convention] = {}
        """By endpoint; that of our own manager by its id, since it stays the same wherever the manager is."""
        self.conventions: Conventions = self._learned
        if roster is not None:
            self.conventions = roster
        self._take_matches_at_page: set[str] = set()
        self._probed: set[str] = set()

    # --- what is known ------------------------------------------------------------------------------------------------

    def learn(self, agent_id: str, endpoint: str, convention: Convention, now: float, key: str = "") -> None:
        if self.conventions.get(key or agent_id) is not convention:
            self._happened(
                ConventionLearned(
                    at=now,
                    agent_id=agent_id,
                    endpoint=endpoint,
                    convention=convention.value,
                )
            )

    def apply(self, event: Event) -> None:
        if isinstance(event, ConventionLearned):
            key = event.endpoint
            if event.agent_id == MANAGER:
                key = MANAGER
            self._learned[key] = convention_of(event.convention)
        elif isinstance(event, Registered):
            if event.new_league:
                self._learned.clear()
            self._learned[MANAGER] = convention_of(event.convention)

    def forget_endpoint(self, endpoint: str) -> None:
        self._learned.pop(endpoint, None)

    def probe(self, role: str, game_type: str) -> Ping:
        return DialectProbe(role, game_type)

    def must_probe(self, to: Address) -> bool:
        # The tools of a server must be known before they are called, and a handshake may take long (T-11).
        if to.convention is not Convention.TOOLS or self._is_strict() or to.endpoint in self._probed:
            return False
        self._probed.add(to.endpoint)
        return True

    def learn_from(self, findings: Findings, agent_id: str, now: float) -> None:
        if findings.tools is not None and not self._is_strict():
            self.learn(agent_id, findings.endpoint, Convention.TOOLS, now)

    def method_names(self, convention: Convention, message_type: str) -> str:
        return " or ".join(forms.spellings(convention, message_type))

    def snapshot(self) -> Mapping[str, Any]:
        endpoints = sorted(self._learned.keys() - {MANAGER})
        return {endpoint: self._learned[endpoint].value for endpoint in endpoints}

    # --- lines --------------------------------------------------------------------------------------------------------

    def line(self, to: Address, purpose: Purpose, pause_s: float = 0.0) -> Line:
        if self._is_strict():
            return PLAIN
        key = to.agent_id
        if purpose in _BY_ENDPOINT:
            key = to.endpoint
        line = FormLine(self._candidates(to, purpose), to.endpoint, pause_s=pause_s)
        line.is_harmless = purpose is not Purpose.CHOOSE
        # A broken connection proves nothing where the message must not arrive twice: it may have been read.
        is_known = self.conventions.get(key) is not None
        line.is_proven = is_known or purpose in (
            Purpose.TELL,
            Purpose.CHOOSE,
            Purpose.START,
        )
        if purpose in _LEARNING:
            line.learns = True
            line.learn = self._learner(key, to)
        return line

    def _candidates(self, to: Address, purpose: Purpose) -> tuple[Form, ...]:
        usual = forms_of(to.endpoint, to.convention)
        if purpose is Purpose.REGISTER:
            return (*usual, page(to.endpoint, REGISTER_PATH))
        if purpose is not Purpose.START:
            return usual
        run_match = page(to.endpoint, RUN_MATCH_PATH)
        if to.agent_id in self._take_matches_at_page:
            return (run_match, *usual)
        return (*usual, run_match)

    def _learner(self, key: str, to: Address) -> Callable[[Form, float], None]:
        def learn(form: Form, now: float) -> None:
            # A page takes one kind of message: what works there says nothing about other calls.
            if form.endpoint == to.endpoint:
                self.learn(to.agent_id, to.endpoint, form.convention, now, key)
            else:
                self._take_matches_at_page.add(to.agent_id)

        return learn
