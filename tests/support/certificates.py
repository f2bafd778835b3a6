"""An authority and a certificate of its making, with the commands the operator's page shows."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificates:
    """The files of one authority and of one server it certifies."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path, names: str = "DNS:localhost,IP:127.0.0.1") -> Certificates:
    """For a server of these names."""
    files = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    request, extensions = folder / "server.csr", folder / "server.ext"
    extensions.write_text(f"subjectAltName={names}\nauthorityKeyIdentifier=keyid\n", encoding="ascii")
    _openssl(
        "req",
        "-x509",
        *KEY,
        "-subj",
        "/CN=class CA",
        "-days",
        "90",
        "-keyout",
        folder / "ca.key",
        "-out",
        files.authority,
    )
    _openssl("req", *KEY, "-subj", "/CN=league", "-keyout", files.key, "-out", request)
    _openssl(
        *("x509", "-req", "-days", "90", "-in", request, "-extfile", extensions),
        *("-CA", files.authority, "-CAkey", folder / "ca.key", "-CAcreateserial", "-out", files.certificate),
    )
    return files


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
