"""Options and keys that earlier versions had. Each is refused with a sentence that says what to use instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from league.hosting.settings.options import Option

REMOVED: Mapping[str, str] = {
    "agents_config": "the file is config/agents/agents_config.json; --player says where a single player is",
    "allow_endpoint": "--endpoints takes these places after a comma: --endpoints local,10.1.0.0/16",
    "allow_host": "--managers URL names another address of a manager, and the manager answers to its name",
    "corrections": "a player asks once more; in a script, league.LLM(...) and league.Ask(...) take corrections=N",
    "draw": "leave it out: the manager has a share in every draw",
    "late_referees": "referees may always come after the start, except in the strict profile",
    "max_concurrent_matches_limit": "a referee may offer 10 matches at once, and 64 with a token_scheme",
    "no_options": "leave $options out of your own prompt, or write league.LLM(..., options_shown=False) in a script",
    "no_shared": '--shared "" keeps no shared files',
    "referee_patience": "a referee that has acknowledged a match gets as long as the longest match can take",
    "start_match_after_s": "the manager waits for half of --move-seconds",
    "tls_ca": "set the environment variable SSL_CERT_FILE to the certificate of the authority",
}
"""By their names in league.toml."""


def flag_of(name: str) -> str:
    """Return an option as it is typed."""
    return "--" + name.replace("_", "-")


def flags(only_in_file: Iterable[Option]) -> dict[str, str]:
    """Return the same sentences by flags; also for options that only `league.toml` has, and the environment."""
    sentences = {flag_of(name): sentence for name, sentence in REMOVED.items()}
    for row in only_in_file:
        sentence = f"set {row.name} in league.toml (--config FILE)"
        if row.variable:
            sentence += f", or the environment variable {row.variable}"
        sentences[row.flag] = sentence
    return sentences
