"""Agents' versions are SemVer 2.0; the protocol's own are served from 2.0.0 on, below 3.0.0 (R-29, R-50)."""

from __future__ import annotations

import pytest

from league.protocol.versions import CURRENT, PROTOCOL, is_semver, is_supported


@pytest.mark.parametrize(
    "version",
    [
        "0.0.0",
        "1.0.0",
        "10.20.30",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-0.3.7",
        "1.0.0-x-y-z.--",
        "1.0.0--1.2",
        "1.0.0+20130313144700",
        "1.0.0-beta+exp.sha.5114f85",
        "1.0.0+0.build.1-rc.10000aaa-kk-0.1",
        "99999999999999999999999.999999999999999999.99999999999999999",
    ],
)
def test_these_are_semantic_versions(version: str) -> None:
    assert is_semver(version)


@pytest.mark.parametrize(
    "version",
    [
        "",
        "1",
        "1.2",
        "1.2.3.4",
        "v1.2.3",
        "01.2.3",
        "1.02.3",
        "1.2.03",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+",
        "1.2.3+a+b",
        "1.2.3-ä",
        "-1.2.3",
        "1.2.3 ",
        "1.2.3\n",
        "١.2.3",
    ],
)
def test_these_are_not(version: str) -> None:
    assert not is_semver(version)


@pytest.mark.parametrize("version", [CURRENT, "2.0.0", "2.0.1-rc.1", "2.0.0+build", "2.1.0-beta", "2.99.99"])
def test_these_protocol_versions_are_served(version: str) -> None:
    assert is_supported(version)


@pytest.mark.requirement("REGISTER.refuses_version")
@pytest.mark.parametrize("version", ["0.0.0", "1.0.0", "1.99.99", "2.0.0-rc.1", "3.0.0", "20.0.0", "10.2.0"])
def test_these_protocol_versions_are_not(version: str) -> None:
    assert not is_supported(version)


def test_the_protocol_is_league_v2_in_version_2_1_0() -> None:
    assert (PROTOCOL, CURRENT) == ("league.v2", "2.1.0")
