"""What holds in every state that legal play can reach, in every game."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.games.nim import league_nim
from league.features.games import connect_four, cop_and_thief, kuhn_poker
from league.games import even_odd, rock_paper_scissors, tic_tac_toe
from league.games.contract import SEATS, Game, Mover, Seat, Verdict, opponent, points
from tests.support.examples import examples

GAMES = (
    even_odd.GAME,
    rock_paper_scissors.GAME,
    rock_paper_scissors.best_of(5),
    tic_tac_toe.GAME,
    connect_four.GAME,
    kuhn_poker.GAME,
    cop_and_thief.GAME,
    league_nim.GAME,
)
PLAYERS = ("P01", "P02")
WINNERS: tuple[Seat | None, ...] = (*SEATS, None)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def every_game(test: Callable[..., None]) -> Callable[..., None]:
    """Sixteen properties of each game walk through its states."""
    tried = examples(60)(test) if hasattr(test, "hypothesis") else test
    marked: Callable[..., None] = pytest.mark.parametrize("game", GAMES, ids=lambda one: f"{one.name}-{one.turns}")(
        tried
    )
    return marked


def made(data: st.DataObject, game: Game, state: object) -> dict[Seat, str]:
    """A legal move of each seat that is to move."""
    return {
        seat: data.draw(st.sampled_from(game.rules.legal_moves(state, seat)), label=f"seat {seat}")
        for seat in game.rules.to_move(state).seats
    }


def events(mover: Mover) -> list[int]:
    """The numbers that chance may draw."""
    if not mover.weights:
        return list(range(1, 11))
    return [number for number, weight in enumerate(mover.weights) if weight]


def walk(data: st.DataObject, game: Game) -> Iterator[object]:
    """The states of one game, from start to end."""
    state = game.rules.start()
    yield state
    while (mover := game.rules.to_move(state)).kind != "nobody":
        if mover.kind == "chance":
            state = game.rules.draw(state, data.draw(st.sampled_from(events(mover)), label="drawn"))
        else:
            state = game.rules.play(state, made(data, game, state))
        yield state


def a_state(data: st.DataObject, game: Game) -> object:
    return data.draw(st.sampled_from(list(walk(data, game))), label="state")


def is_json(value: object) -> bool:
    return bool(json.loads(json.dumps(value)) == value)


@every_game
@given(data=st.data())
def test_exactly_the_seats_to_move_have_legal_moves(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    mover = game.rules.to_move(state)
    assert (mover.kind == "players") == bool(mover.seats)
    for seat in SEATS:
        moves = game.rules.legal_moves(state, seat)
        assert bool(moves) == (seat in mover.seats)
        assert len(set(moves)) == len(moves)


@every_game
@given(data=st.data())
def test_every_legal_move_can_be_played_and_leaves_the_old_state_as_it_was(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    before = repr(state)
    others = made(data, game, state)
    for seat in others:
        for move in game.rules.legal_moves(state, seat):
            assert game.rules.play(state, others | {seat: move}) != state
    assert repr(state) == before


@every_game
@given(data=st.data(), move=st.text(max_size=8))
def test_any_other_move_is_refused(game: Game, data: st.DataObject, move: str) -> None:
    state = a_state(data, game)
    others = made(data, game, state)
    for seat in SEATS:
        if move not in game.rules.legal_moves(state, seat):
            with pytest.raises(ValueError, match=r"to move|may not play"):
                game.rules.play(state, others | {seat: move})


@every_game
@given(data=st.data())
def test_a_number_is_drawn_only_when_chance_moves(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    if game.rules.to_move(state).kind != "chance":
        with pytest.raises(ValueError, match="drawn"):
            game.rules.draw(state, 5)


@every_game
@given(data=st.data())
def test_the_same_moves_give_the_same_states(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    moves = made(data, game, state)
    if moves:
        assert game.rules.play(state, moves) == game.rules.play(state, moves)


@every_game
@given(data=st.data())
def test_there_is_an_outcome_exactly_when_nobody_moves(game: Game, data: st.DataObject) -> None:
    for state in walk(data, game):
        assert (game.rules.outcome(state) is not None) == (game.rules.to_move(state).kind == "nobody")


@every_game
@given(data=st.data())
def test_a_game_ends_within_its_turns(game: Game, data: st.DataObject) -> None:
    phases = [state for state in walk(data, game) if game.rules.to_move(state).kind == "players"]
    assert len(phases) <= game.turns


@every_game
@given(data=st.data())
def test_a_game_with_a_single_draw_draws_once_after_the_last_choice(game: Game, data: st.DataObject) -> None:
    movers = [game.rules.to_move(state).kind for state in walk(data, game)]
    draws_once_at_the_end = movers.count("chance") == 1 and movers[-2:] == ["chance", "nobody"]
    assert game.single_draw_last == draws_once_at_the_end


@every_game
@given(data=st.data())
def test_a_game_gives_three_points_or_two_unless_it_is_scored_by_margin(game: Game, data: st.DataObject) -> None:
    *_, end = walk(data, game)
    outcome = game.rules.outcome(end)
    assert outcome is not None
    given_points = game.scoring.points(outcome.winner, technical=False, returns=outcome.returns)
    if game.scoring.by_margin:
        assert all(0 <= share <= game.scoring.most for share in given_points)
        return
    assert given_points == points(outcome.winner)
    if outcome.winner is None:
        assert given_points == (1, 1)
    else:
        assert (given_points[outcome.winner], given_points[opponent(outcome.winner)]) == (3, 0)


@every_game
@given(data=st.data())
def test_a_reason_is_told_with_the_players_ids(game: Game, data: st.DataObject) -> None:
    *_, end = walk(data, game)
    outcome = game.rules.outcome(end)
    assert outcome is not None
    told = outcome.explanation(PLAYERS)
    assert "{" not in told
    if outcome.winner is not None:
        assert PLAYERS[outcome.winner] in told


@every_game
@given(data=st.data())
def test_views_and_words_are_plain_json(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    for seat in SEATS:
        assert is_json(game.rules.view(state, seat))
        assert is_json(game.wire.move_request(state, seat))
    for technical in (False, True):
        assert is_json(game.wire.game_result(state, PLAYERS, technical))
        assert is_json(game.wire.details(state, PLAYERS, technical))


@every_game
@given(data=st.data())
def test_no_state_holds_one_choice_of_a_simultaneous_phase_without_the_other(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    if game.rules.to_move(state).seats != SEATS:
        return
    for seat, move in made(data, game, state).items():
        with pytest.raises(ValueError, match="to move"):
            game.rules.play(state, {seat: move})


@every_game
@given(data=st.data())
def test_a_view_before_the_draw_does_not_depend_on_what_the_other_chose(game: Game, data: st.DataObject) -> None:
    state = a_state(data, game)
    if not game.single_draw_last or game.rules.to_move(state).seats != SEATS:
        return
    moves = made(data, game, state)
    for seat in SEATS:
        other = opponent(seat)
        reached = [game.rules.play(state, moves | {other: move}) for move in game.rules.legal_moves(state, other)]
        if all(game.rules.to_move(after).kind == "chance" for after in reached):
            views = [game.rules.view(after, seat) for after in reached]
            assert all(view == views[0] for view in views)


@every_game
@given(data=st.data())
def test_the_details_of_a_played_game_prove_its_outcome(game: Game, data: st.DataObject) -> None:
    *_, end = walk(data, game)
    outcome = game.rules.outcome(end)
    assert outcome is not None
    reported = json.loads(json.dumps(game.wire.details(end, PLAYERS, technical=False)))
    verdict = game.wire.verdict(reported, PLAYERS)
    assert (verdict.kind, verdict.winner) == ("confirmed", outcome.winner)
    if game.wire.response_type == "GAME_MOVE_RESPONSE":
        assert verdict.returns == outcome.returns
    assert [winner for winner in WINNERS if not verdict.contradicts(winner)] == [outcome.winner]


@every_game
@given(data=st.data())
def test_the_details_of_a_technical_loss_show_every_valid_choice_and_prove_no_winner(
    game: Game, data: st.DataObject
) -> None:
    state = a_state(data, game)
    moves = made(data, game, state)
    pending = {seat: move for seat, move in moves.items() if data.draw(st.booleans(), label=f"{seat} in")}
    if not moves:
        return
    details = game.wire.details(state, PLAYERS, technical=True, pending=pending)
    choices = details["choices"]
    assert isinstance(choices, dict)
    assert list(choices) == list(PLAYERS)
    assert all(choices[PLAYERS[seat]] == move for seat, move in pending.items())
    assert game.wire.game_result(state, PLAYERS, technical=True, pending=pending)["choices"] == choices
    verdict = game.wire.verdict(details, PLAYERS)
    assert verdict.kind == "technical"
    assert not any(verdict.contradicts(winner) for winner in WINNERS)


@every_game
def test_a_technical_loss_at_the_join_shows_nobodys_choice(game: Game) -> None:
    details = game.wire.details(game.rules.start(), PLAYERS, technical=True)
    assert details["choices"] == {"P01": None, "P02": None}


@every_game
@given(
    details=st.dictionaries(st.sampled_from(["choices", "moves", "draws", "drawn_number", "status"]), JSON),
    moves=st.lists(st.dictionaries(st.sampled_from([*PLAYERS, "P03"]), JSON, max_size=2), max_size=4),
    listed=st.booleans(),
)
def test_whatever_is_reported_gets_a_verdict(
    game: Game, details: dict[str, object], moves: list[object], listed: bool
) -> None:
    verdict = game.wire.verdict(details | {"moves": moves} if listed else details, PLAYERS)
    assert isinstance(verdict, Verdict)
    assert verdict.note
