"""The page docs/reference/conformance.md: how each clause is checked in a player."""

from __future__ import annotations

from collections.abc import Iterable

from league.features.kit.checks import checks_for
from league.features.kit.checks.outcome import Check
from league.features.kit.clauses import Clause, clauses_for
from league.features.kit.scenarios.programme import SCENARIOS

OF_LEAGUES = ("refereeing", "leading")
HEAD = """\
# What `league check` checks

The kit plays manager and referee against a player and judges its answers. It gives a verdict on every clause of
`spec/requirements.toml` whose observance an outsider can see, under the clause's own id:

| verdict | meaning |
|---|---|
| pass | kept, as far as the kit looked |
| fail | a MUST is broken; the command exits with 1 |
| warn | a SHOULD is not kept, or a habit that may cost matches elsewhere |
| untestable | the kit could not see it, and says why: the player did not register, or an earlier step failed |

**MUST and SHOULD.** A player must do what any of the older documents of this protocol asks of players, unless another
of them contradicts it. It should do what only `spec/league-v2.md` asks, such as strict JSON; otherwise it gets a
warning (section 4.4, ruling R-95). The levels below are those for players. Requests that no document has, such as
`ping` or an unknown method, never make a MUST fail. In replies only `message_type` of the envelope is required, but
the fields that are present must be right. The token must be present and right.

**Dialects.** The kit invites the player by the verb first, then by the message type, by `tools/call`, with the message
nested, with the message alone, and does everything else in the first way that the player understands; `--json` shows
it as `dialect`. The documents have the first two, SPEC and TYPE. TOOLS is a deviation, and a warning of
`PLAYER.understands_calls`; its tools get the arguments that a referee gives them. NESTED and BARE fail it. The
player's answers are then judged like any other's. This includes an answer outside `result`, a join by
`"accepted": true` or `"status": "ACK"`, a choice called `choice`, and an answer that comes as a separate request: the
broken clause says so, and the others have their own verdicts.

**Registration.** Clauses about it need a player that is started with the kit as its manager:
`league check player URL --listen 8000`, then the player with `--manager http://127.0.0.1:8000/mcp`. Without that, the
kit does not ask for what only a member can know (its id, its token). The kit reads every registration that our manager
reads, under another message type or at `/register` too, and judges it as it was written. Three clauses need a separate
run with a freshly started player: `--only REGISTER.retries` leaves the first registration without an answer,
`--only REGISTER.stops_when_rejected` rejects it, and `--only REGISTER.waits_for_approval` makes it wait for the
operator (E043).

**Signatures.** `SIGNATURE` and `DRAW.one_commitment` are for players that declare a key when they register with the kit
(`player_meta.public_key`, section 9.6); for all others they are untestable. The kit shows such a player derived tokens,
announces each attempt with a promise, and rebuilds each statement. In the scenario *signing* it also invites twice with
different commitments.

**Referees and managers.** `league check referee URL --listen 8000` needs a referee that is started with the kit as its
manager. The kit gives it four matches between players of its own: with different choices (its first report gets no
answer), with equal ones, with an illegal choice, and with a player that declines. `league check manager URL` registers
two players and a referee, and two more players and another referee if the league does not begin. It reports a win, a
draw and a defeat in turn, and holds the table against them. Then it reports the last match again, and with another
result. A field that our agents read in spite of what is wrong with it is a warning. The checks are listed by
`league check referee --list` and `league check manager --list`.

The kit runs these scenarios against a player, in this order:

{scenarios}

`make generate` writes this page.

| clause | level | section | scenarios | what must be true |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    names = [name for name in SCENARIOS if name not in OF_LEAGUES]
    scenarios = "\n".join(f"{number}. {name.replace('_', ' ')}" for number, name in enumerate(names, 1))
    checks, clauses = checks_for("player"), clauses_for("player")
    lines = [_line(clauses[name], check) for name, check in checks.items()]
    return HEAD.format(scenarios=scenarios) + "".join(lines) + _never(checks.items())


def _line(clause: Clause, check: Check) -> str:
    used = [name.replace("_", " ") for name in SCENARIOS if name in check.scenarios]
    shown = "never" if check.never else ", ".join(used)
    sentence = clause.sentence.replace("|", "\\|")
    return f"| `{clause.id}` | {clause.level} | {clause.section} | {shown} | {sentence} |\n"


def _never(checks: Iterable[tuple[str, Check]]) -> str:
    lines = [f"- `{name}`: {check.never}\n" for name, check in checks if check.never]
    return "\nClauses that are never testable from outside, and why:\n\n" + "".join(lines)
