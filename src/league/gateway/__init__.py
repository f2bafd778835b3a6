"""The gateway to third-party agents: roles and engine speak league.v2 and nothing else; all other habits end here.

It has three parts, at three places:

- *Forms* (`book.py`): a call may need another calling convention or path. The engine asks its line for the next form;
  an attempt may need several. Which form a peer understood is journalled.
- *Words* (`words.py`): inside one call, a peer may use another name for a method, want an MCP session first, live at
  another path, or answer with an event stream. Shell and simulator run the same code; nothing of it is journalled.
- *Conversations* (`giving.py`, `guest.py`): several calls with timers of their own. Referees get their matches in other
  ways than by announcement; a referee under a third-party manager asks for its matches and for the players' addresses,
  waits for their time (`lead.py`), and reports them so that each is counted once (`reporting.py`).

Beside them stand the readers, which turn the JSON of others into messages of the documents (`readers/normalise.py`,
`forms.py` and what they use). They hold no state. Whoever builds a role gives it a book and a conversation; no role
imports them.
"""

PUBLIC = (
    "book",
    "forms",
    "giving",
    "guest",
    "readers.foreign_assignments",
    "readers.foreign_tables",
    "readers.normalise",
    "readers.registrations",
    "readers.tools",
    "readers.understanding",
    "words",
)
"""The modules that other packages may import."""
