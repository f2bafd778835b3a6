"""TLS: the certificates of servers and clients, and the layer between a socket and a connection."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from league.transport.http import address_of
from league.transport.http_connection import GRACE_S, NEVER, ServerConnection

if TYPE_CHECKING:
    from league.transport.http_server import ConnectionTable


READ_SIZE: Final = 64 * 1024


class CertificateError(Exception):
    """A file is not a certificate, not a key, or the two do not belong together."""


NEEDS_TLS = b"\x15\x03\x01\x00\x02\x02\x46"
"""The alert "protocol_version", in answer to a request without TLS: it tells a client of ours what is wrong."""


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """For a server with this certificate (and those up to its authority); the key may be in the same file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password="")  # a key with a password must not ask at the terminal
    except (OSError, ValueError) as error:
        names = f"{certificate} and {key}" if key else str(certificate)
        raise CertificateError(f"{names}: no certificate with its key, in PEM, without a password: {error}") from None
    return context


class TlsLayer(asyncio.Protocol, asyncio.Transport):
    """Between a socket and its ServerConnection: to the one it is the protocol, to the other the transport.

    Until the handshake is over there is no ServerConnection, and this itself has a place among the connections, which
    it can lose like any other. (`loop.start_tls` will not do: uvloop hands out the first bytes before it is called.)
    """

    write_deadline = NEVER

    def __init__(self, table: ConnectionTable, context: ssl.SSLContext) -> None:
        super().__init__()
        self.address = ""
        self.deadline = NEVER
        self._table = table
        self._socket: asyncio.Transport
        self._connection: ServerConnection | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_reading_paused = False
        self._has_said_goodbye = False

    # --- the protocol of the socket -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        self.address = address_of(transport, "peername")
        self.deadline = self._table.loop.time() + self._table.limits.header_s
        if self._table.admit(self) is not None:
            self.abort()  # it could not read why

    def data_received(self, data: bytes) -> None:
        if self._has_said_goodbye and self._connection is not None:
            self._connection.data_received(data)  # which only counts it
            return
        self._incoming.write(data)
        try:
            if self._connection is None:
                self._shake_hands()
            if self._connection is not None:
                self._read(self._connection)
        except ssl.SSLError as error:  # no TLS at all, or none we speak
            self._flush()
            if error.reason == "HTTP_REQUEST":
                self._socket.write(NEEDS_TLS)
            self._socket.close()
        else:
            self._flush()

    def _shake_hands(self) -> None:
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self._table.forget(self)
            self._connection = ServerConnection(self._table)
            self._connection.connection_made(self)

    def _read(self, connection: ServerConnection) -> None:
        with suppress(ssl.SSLWantReadError):
            while not self._is_reading_paused and not self._has_said_goodbye and not self.is_closing():
                data = self._read_some()
                if data:
                    connection.data_received(data)
                elif connection.eof_received():
                    return
                else:
                    self.close()

    def _read_some(self) -> bytes:
        """Decrypt some bytes; none means that the client sends no more."""
        try:
            return self._tls.read(READ_SIZE)
        except ssl.SSLZeroReturnError:
            return b""

    def eof_received(self) -> bool:
        return self._connection is not None and self._connection.eof_received()

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is None:
            self._table.forget(self)
        else:
            self._connection.connection_lost(exc)

    # --- the transport of the connection ------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if data and not self._has_said_goodbye:
            self._tls.write(data)
            self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending and not self.is_closing():
            self._socket.write(self._outgoing.read())

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._say_goodbye()
        self._socket.write_eof()

    def _say_goodbye(self) -> None:
        if not self._has_said_goodbye:
            self._has_said_goodbye = True
            with suppress(ssl.SSLError):  # it wants the client's goodbye too, which nobody waits for
                self._tls.unwrap()
            self._flush()

    def close(self) -> None:
        self._say_goodbye()
        self._socket.close()

    def abort(self) -> None:
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._socket.is_closing()

    def is_reading(self) -> bool:
        return not self._is_reading_paused

    def pause_reading(self) -> None:
        self._is_reading_paused = True
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._is_reading_paused = False
        self._socket.resume_reading()
        self._table.loop.call_soon(self.data_received, b"")  # what was decrypted already

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Any: as asyncio has it."""
        return self._socket.get_extra_info(name, default)

    # --- during the handshake, as the table sees it -------------------------------------------------------------------

    def eviction_order(self, now: float) -> tuple[bool, float]:
        since = self.deadline - self._table.limits.header_s
        return now - since < GRACE_S, since

    def expire(self, now: float) -> None:
        self.abort()

    def evict(self, status: int, detail: str) -> None:
        self.abort()

    finish = give_up = abort
