"""Streaks: observed from the manager, worked out beside the league, and shown."""

from league.cli.source import add_source_options, source_of
from league.terminal import Command, examples, print_result


def winners(manager):
    """The winners of each player's matches, in order. The league waits for this, so it is quick."""
    results = {player_id: [] for player_id in manager.player_ids}
    for match in manager.ledger.matches.values():
        if match.result is not None:
            for player_id in match.players:
                results[player_id].append(match.result.winner)
    return results


def longest(results):
    """The longest streak of every player. This may take its time: it runs in a thread."""
    streaks = {}
    for player_id, match_winners in results.items():
        length = best = 0
        for winner in match_winners:
            length = length + 1 if winner == player_id else 0
            best = max(best, length)
        streaks[player_id] = best
    return streaks


def document(streaks):
    return {"streaks": streaks}


def section(streaks):
    return {"streaks": {f"streak-{player_id}": (player_id, best) for player_id, best in (streaks or {}).items()}}


def run(args):
    shown = source_of(args).get("/api/streaks")
    print_result(args.json, shown, [f"{player_id}: {best}" for player_id, best in shown["streaks"].items()])
    return 0


COMMANDS = (Command("streaks", "show winning streaks", examples("league streaks"), add_source_options, run),)
