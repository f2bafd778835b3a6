"""The error catalogue is the one of the rulings, and others' errors are read by it."""

from __future__ import annotations

import pytest

from league.protocol.errors import (
    _SEVERITY,
    BY_NAME,
    ERRORS,
    REJECTIONS,
    Family,
    PeerError,
    Retry,
    Severity,
    Violation,
    read_foreign,
)

REFEREE, PLAYER, NOTIFICATION, MATCH, REPORT, QUERY = Family

SEVERITIES = {  # as document 2 has them
    "E001": "high",
    "E003": "high",
    "E004": "high",
    "E005": "high",
    "E009": "critical",
    "E011": "high",
    "E012": "high",
    "E021": "medium",
}


@pytest.mark.requirement("ERROR.severity")
def test_every_error_has_a_severity_and_those_of_document_2_have_theirs() -> None:
    assert {code: ERRORS[code].severity.value for code in SEVERITIES} == SEVERITIES
    assert {row.severity for row in ERRORS.values()} == set(Severity)
    assert set(_SEVERITY) <= set(ERRORS)


NUMBERS: dict[str, int | dict[Family, int]] = {
    "E001 TIMEOUT_ERROR": 4010,
    "E003 MISSING_REQUIRED_FIELD": -32602,
    "E004 INVALID_PARITY_CHOICE": 4004,
    "E005 PLAYER_NOT_REGISTERED": {NOTIFICATION: 3002, MATCH: 4002, QUERY: 6004},
    "E007 INVALID_FIELD_TYPE": -32602,
    "E008 INVALID_FIELD_VALUE": -32602,
    "E009 CONNECTION_ERROR": 4011,
    "E010 RATE_LIMITED": {REFEREE: 1091, PLAYER: 2091, NOTIFICATION: 3091, MATCH: 4091, REPORT: 5091, QUERY: 6091},
    "E011 AUTH_TOKEN_MISSING": {
        REFEREE: 1095,
        PLAYER: 2095,
        NOTIFICATION: 3001,
        MATCH: 4001,
        REPORT: 5001,
        QUERY: 6001,
    },
    "E012 AUTH_TOKEN_INVALID": {
        REFEREE: 1095,
        PLAYER: 2095,
        NOTIFICATION: 3001,
        MATCH: 4001,
        REPORT: 5001,
        QUERY: 6001,
    },
    "E013 REFEREE_NOT_REGISTERED": {REPORT: 5004, QUERY: 6005},
    "E014 MATCH_NOT_FOUND": {MATCH: 4003, REPORT: 5002},
    "E015 MATCH_ID_MISMATCH": 4012,
    "E016 MATCH_NOT_ASSIGNED": 5002,
    "E017 DUPLICATE_REPORT": 5003,
    "E018 PROTOCOL_VERSION_MISMATCH": {REFEREE: 1094, PLAYER: 2094, MATCH: 4094, QUERY: 6094},
    "E019 LATE_REGISTRATION": {REFEREE: 1004, PLAYER: 2005},
    "E020 LEAGUE_FULL": {REFEREE: 1001, PLAYER: 2001},
    "E021 INVALID_TIMESTAMP": -32602,
    "E022 DUPLICATE_NAME": {REFEREE: 1005, PLAYER: 2002},
    "E023 INVALID_STATE": {MATCH: 4005, REPORT: 5096, QUERY: 6096},
    "E024 INVALID_MOVE": 4006,
    "E025 ENDPOINT_UNREACHABLE": {REFEREE: 1002, PLAYER: 2003},
    "E026 ENDPOINT_FORBIDDEN": {REFEREE: 1002, PLAYER: 2003},
    "E027 UNSUPPORTED_GAME_TYPE": {REFEREE: 1003, PLAYER: 2004},
    "E028 LEAGUE_NOT_FOUND": {QUERY: 6003, REPORT: 5097},
    "E029 INVALID_QUERY_TYPE": 6002,
    "E030 LEAGUE_NOT_STARTED": {QUERY: 6098, REPORT: 5098},
    "E031 LEAGUE_ALREADY_COMPLETE": {REFEREE: 1099, PLAYER: 2099},
    "E032 NOT_AUTHORIZED": {NOTIFICATION: 3090, REPORT: 5090},
    "E033 PLAYER_ID_MISMATCH": 4013,
    "E034 MALFORMED_JSON": -32700,
    "E035 INVALID_REQUEST": -32600,
    "E036 UNKNOWN_METHOD": -32601,
    "E037 MESSAGE_TOO_LARGE": -32600,
    "E038 MESSAGE_TYPE_MISMATCH": -32602,
    "E039 RESULT_INCONSISTENT": 5005,
    "E040 RESULT_CONFLICT": 5003,
    "E041 STORAGE_UNAVAILABLE": {REFEREE: 1093, MATCH: 4093},
    "E042 OVERLOADED": {PLAYER: 2092, QUERY: 6092},
    "E043 ENROLMENT_REQUIRED": 1006,
    "E044 ENDPOINT_IN_USE": {REFEREE: 1007, PLAYER: 2006},
    "E045 PROVIDER_UNAVAILABLE": 4014,
    "E046 FALLBACK_REFUSED": 4015,
    "E099 INTERNAL_ERROR": -32603,
}


def test_the_catalogue_has_exactly_the_rows_of_the_rulings() -> None:
    assert [f"{row.code} {row.name}" for row in ERRORS.values()] == list(NUMBERS)


@pytest.mark.parametrize(("row", "numbers"), NUMBERS.items())
def test_a_row_has_the_numbers_of_the_rulings(row: str, numbers: int | dict[Family, int]) -> None:
    error = ERRORS[row.partition(" ")[0]]
    wanted = dict.fromkeys(Family, numbers) if isinstance(numbers, int) else numbers
    assert {family: error.number(family) for family in wanted} == wanted


@pytest.mark.requirement("RPC.error_shape")
def test_the_reserved_numbers_are_never_used() -> None:
    numbers = {row.number(family) for row in ERRORS.values() for family in Family}
    assert not [number for number in numbers if -32099 <= number <= -32000]


def test_only_the_retryable_errors_are_retried_by_themselves() -> None:
    assert {row.code for row in ERRORS.values() if row.retry is Retry.YES} == {"E001", "E009", "E025", "E045", "E099"}
    assert {row.code for row in ERRORS.values() if row.retry is Retry.IN_WINDOW} == {"E004", "E015", "E024", "E033"}
    assert {row.code for row in ERRORS.values() if row.retry is Retry.COUNTS_AS_ACK} == {"E017"}


@pytest.mark.requirement("HTTP.other_statuses")
def test_only_these_errors_have_a_status_of_their_own() -> None:
    statuses = {row.code: row.http_status for row in ERRORS.values() if row.http_status is not None}
    assert statuses == {"E010": 429, "E034": 400, "E035": 400, "E037": 413, "E041": 503, "E042": 503}


@pytest.mark.requirement("REGISTER.rejected")
def test_these_codes_reject_a_registration() -> None:
    assert {"E018", "E019", "E020", "E022", "E025", "E026", "E027", "E031", "E043", "E044"} == REJECTIONS


def test_each_name_stands_for_one_row() -> None:
    assert len(BY_NAME) == len(ERRORS)


@pytest.mark.requirement("ERROR.read_by_name")
@pytest.mark.parametrize(
    ("code", "name", "number", "ours"),
    [
        ("E001", "INVALID_PROTOCOL_VERSION", None, "E018"),
        ("E002", "MISSING_REQUIRED_FIELD", None, "E003"),
        ("E002", "INVALID_MOVE", None, "E024"),
        ("E003", "INVALID_FIELD_TYPE", None, "E007"),
        ("E003", "PLAYER_DISCONNECT", None, "E009"),
        ("E004", "INVALID_STATE", None, "E023"),
        ("E013", "AUTH_TOKEN_MISSING", None, "E011"),
        ("E021", "DUPLICATE_NAME", None, "E022"),
        ("E012", "AUTH_TOKEN_INVALID", 12, "E012"),
        (None, "LEAGUE_FULL", -32602, "E020"),
    ],
)
def test_the_name_of_a_foreign_error_decides(code: str | None, name: str, number: int | None, ours: str) -> None:
    assert read_foreign(code, name, number) == ours


@pytest.mark.requirement("ERROR.read_by_name")
@pytest.mark.parametrize(
    ("name", "number", "ours"),
    [
        ("League full", 1001, "E020"),
        ("Duplicate name", 2002, "E022"),
        ("Invalid auth token", 3001, "E012"),
        ("Invalid auth token", 6001, "E012"),
        ("no idea", 12, "E012"),
        ("Timeout waiting for GAME_JOIN_ACK", -1, "E001"),
        ("Duplicate report", 5003, "E017"),
        ("Method not found", -32601, "E036"),
        ("Parse error", -32700, "E034"),
        (None, 6003, "E028"),
        (None, 4094, "E018"),
        ("something else", 7777, "E099"),
        (None, None, "E099"),
    ],
)
def test_an_unknown_name_goes_by_the_number(name: str | None, number: int | None, ours: str) -> None:
    assert read_foreign(None, name, number) == ours


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_of_ours_is_read_back_as_itself(code: str) -> None:
    row = ERRORS[code]
    assert {read_foreign(code, row.name, row.number(family)) for family in Family} == {code}


def test_a_peer_error_says_code_name_and_detail() -> None:
    error = PeerError("E021", "not UTC", {"field": "timestamp"}, "ENVELOPE.timestamp")
    assert str(error) == "E021 INVALID_TIMESTAMP: not UTC"
    assert error.row is ERRORS["E021"]


def test_a_violation_knows_the_name_of_its_code() -> None:
    assert Violation("E032", "sender", "no", "ENVELOPE.sender").name == "NOT_AUTHORIZED"
