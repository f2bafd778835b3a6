"""One HTTP/1.1 server for every role: uvicorn's ASGI machinery behind our own guard, on the loop that is running."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from typing import cast

from uvicorn._types import ASGI3Application
from uvicorn.config import Config

from league.transport.http import DEFAULT_LIMITS, App, Limits, Policy, Response, look_up
from league.transport.http_connection import Connection
from league.transport.http_door import Door
from league.transport.http_guard import Guard

__all__ = ["App", "Limits", "Policy", "PortTakenError", "Response", "Server", "serve"]

BACKLOG = 1024


class PortTakenError(OSError):
    """Somebody else listens there."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(errno.EADDRINUSE, f"port {port} of {host} is taken by another program")
        self.host = host
        self.port = port


class Server:
    """A running server."""

    def __init__(self, host: str, port: int, listener: asyncio.Server, guard: Guard) -> None:
        self.host = host
        self.port = port
        self._listener = listener
        self._guard = guard

    @property
    def load_of(self) -> dict[str, int]:
        """How much the server holds, for those who watch that it stays bounded."""
        return {"connections": len(self._guard.connections), "requests": len(self._guard.state.tasks)}

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more, let running requests end within the grace, then cut off what is left."""
        await self._stop_accepting()
        try:
            async with asyncio.timeout(grace_s):
                await self._guard.finish()
        except TimeoutError:
            await self._guard.cut_off()
        await self._listener.wait_closed()

    async def _stop_accepting(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, asyncio.SelectorEventLoop):
            # It would lose, and leave open, a connection that was accepted and not yet handed over.
            for listening in self._listener.sockets:
                loop.remove_reader(listening)
            await asyncio.sleep(0)
        self._listener.close()


async def serve(
    host: str, port: int, app: App, limits: Limits = DEFAULT_LIMITS, policy: Policy | None = None
) -> Server:
    """Listen at one address (of several, the first) and serve the app; port 0 takes any free one."""
    family, address = (await look_up(host, port))[0]
    listening = _listen(socket.AddressFamily(family), address, port)
    door = cast(ASGI3Application, Door(app, policy or Policy.bound_to(address)))
    config = Config(door, lifespan="off", ws="none", interface="asgi3", log_config=None, proxy_headers=False)
    config.load()
    guard = Guard(config, limits, app.refusal)
    try:
        listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(guard), sock=listening, backlog=BACKLOG
        )
    except BaseException:
        listening.close()
        raise
    return Server(address, listening.getsockname()[1], listener, guard)


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it, every answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # where it would let two programs share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((address, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(address, port) from None
        raise
    return listening
