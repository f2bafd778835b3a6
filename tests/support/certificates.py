"""An authority and a certificate of its making, with the very commands that the page for a class shows."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.pages import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "run-a-class-league.md"
NAMES_ON_THE_PAGE = "subjectAltName=IP:192.0.2.2"


@dataclass(frozen=True)
class Certificates:
    """The files of one authority and of one server it certifies."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path, names: str = "DNS:localhost,IP:127.0.0.1") -> Certificates:
    """For a server of these names."""
    [commands] = [block.text for block in blocks(PAGE.read_text(encoding="utf-8")) if block.text.startswith("openssl ")]
    assert NAMES_ON_THE_PAGE in commands
    script = commands.replace(NAMES_ON_THE_PAGE, f"subjectAltName={names}")
    subprocess.run(["sh", "-e", "-c", script], cwd=folder, check=True, capture_output=True)
    return Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
