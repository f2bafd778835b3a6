"""One sentence for every number of the statistics, wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXPLAINED: Final[Mapping[str, str]] = {
    "matches": "The matches that count: played to the end, and not a repetition of an earlier match.",
    "left_out": (
        "Technical losses and walkovers, because they are about software and not about play; repetitions of an earlier "
        "match of the same two players, move for move, because they say nothing new; and matches of players that are "
        "not rated."
    ),
    "technical_losses": "Matches lost by the player's own fault. They cost points in the table, but do not count here.",
    "points_per_match": "The average of 3 points for a win, 1 for a draw and 0 for a loss.",
    "points_interval": "With 95 % certainty, the average after very many such matches would be in this range.",
    "return_per_match": "The average of what was won in a match; the table of the league counts it as points.",
    "margin_p_value": (
        "How often at least one of this many players would be this far or farther ahead or behind, if all of them "
        "played equally well."
    ),
    "margin_is_luck": (
        "The lead may be luck, unless equal players would look like this in fewer than one of twenty leagues."
    ),
    "p_value": (
        "How often at least one of this many players would be this far or farther from winning half of the decided "
        "matches, if every match was a coin toss."
    ),
    "is_luck": "The wins may be luck, unless coin tosses would look like this in fewer than one of twenty leagues.",
    "rating": (
        "1500 is the average of this league, without players who won or lost every match. A player who is 400 points "
        "stronger wins ten times for each loss."
    ),
    "rating_interval": (
        "With 95 % certainty, the rating is in this range. It has no upper end for a player who won every match, and "
        "no lower end for one who lost every match."
    ),
    "rank_range": "With 95 % certainty, the player's true rank is in this range.",
    "first": "The probability that the player is the strongest of all.",
    "tied_with": (
        "Players that the matches do not tell apart from this one. With 95 % certainty, all other differences in the "
        "whole table are real."
    ),
    "more_matches": (
        "The number of further matches between the two that would tell them apart in four of five cases, if they "
        "differ as much as it seems now; – means more than 10,000."
    ),
    "seat_advantage": "The advantage of PLAYER_A in rating points, with its 95 % interval.",
    "groups": "No chain of matches connects players of different groups, so they are not compared.",
    "choices": "How often the language model was asked for a choice.",
    "fallbacks": "Choices that the model did not make; a random option was played. Above 20 % the player is not rated.",
    "provider_errors": (
        "Choices during which the provider of the model failed at least once. Above 10 % the player is not rated."
    ),
    "declined": "Choices that were not made because the provider did not answer. A match waits for it a few times.",
    "thinking_s": "Seconds that the provider took for a choice, on average, without waiting for rate limits.",
    "waited_s": "Seconds spent waiting for rate limits, in total.",
    "tokens": "Tokens used, as the player says, including those it had to estimate.",
    "tokens_estimated": (
        "The part of the tokens that the player estimated from the length of the texts, because its provider did not "
        "report them."
    ),
    "gone_behind": (
        "How often the player could not be reached in an outage, in a match in which its opponent was ahead. Such a "
        "match goes on where it was, so nothing is gained by it."
    ),
    "draws": "How many numbers the referee drew in matches that were played to the end.",
    "draws_p_value": (
        "How often at least one of this many referees would draw this unevenly or more, if every number was equally "
        "likely."
    ),
    "verdict": (
        "Not uniform: fair draws would look like this in fewer than one of twenty leagues. Too few: fewer than 50 "
        "draws say nothing."
    ),
    "favouritism": (
        "Compares each player's results under this referee with its results under all others. Too few: no player has "
        "23 matches under this referee and 23 elsewhere, so nobody can tell."
    ),
    "favouritism_p_value": (
        "How often chance alone would give at least one player in this league so much better results under one referee."
    ),
}
