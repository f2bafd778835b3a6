"""Every number of the statistics in one sentence, for wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXPLAINED: Final[Mapping[str, str]] = {
    "matches": "The matches that count: played to their end, and no repetition of one that was played before.",
    "left_out": (
        "Technical losses and walkovers, which tell of software and not of play, matches that two players played "
        "before, move for move, which tell nothing new, and matches of players that are not rated."
    ),
    "technical_losses": "Matches lost by one's own fault: they cost points in the table, but count here for nobody.",
    "points_per_match": "The average of 3 for a win, 1 for a draw and 0 for a loss.",
    "points_interval": "After endlessly many such matches the average would be in here, with 95 % certainty.",
    "p_value": (
        "How often somebody among so many players would be at least this far from half of the decided matches, if each "
        "was a coin toss."
    ),
    "is_luck": "They may be luck, unless coin tosses would look so in less than one of twenty leagues.",
    "rating": (
        "1500 is the average of this league, without those who won every match or lost every one; 400 points more are "
        "ten wins for each loss."
    ),
    "rating_interval": (
        "The rating is in here, with 95 % certainty; who won every match has no upper end, who lost every one no lower."
    ),
    "rank_range": "With 95 % certainty the player's true rank is one of these.",
    "first": "The probability that the player is the strongest of all.",
    "tied_with": (
        "Whom the matches do not tell the player apart from; with 95 % certainty everybody else in the whole table is "
        "told apart rightly."
    ),
    "more_matches": (
        "So many more matches between the two would tell them apart in four of five cases, if they differ by what it "
        "seems now; – stands for more than 10,000."
    ),
    "seat_advantage": "What it is worth to be PLAYER_A, in rating points, with its 95 % interval.",
    "groups": "No chain of matches connects players of different groups, so they are not compared.",
    "choices": "How often the language model was asked for a choice.",
    "fallbacks": "Choices that the model did not make: any option was played. Above 20 % the player is not rated.",
    "provider_errors": (
        "Choices in which the provider of the model failed at least once. Above 10 % the player is not rated."
    ),
    "declined": "Choices that were not made because the provider did not answer; mostly the match was played again.",
    "thinking_s": "Seconds the provider took for a choice, on average, without what was waited because of rate limits.",
    "waited_s": "Seconds waited because of rate limits, in all.",
    "tokens": "Tokens spent, as the provider counts them.",
    "draws": "How many numbers the referee drew in matches that were played to their end.",
    "draws_p_value": (
        "How often one of so many referees would draw at least this unevenly, if every number was equally likely."
    ),
    "verdict": (
        "Not uniform: fair draws would look so in less than one of twenty leagues; too few: less than 50 draws tell "
        "nothing."
    ),
}
