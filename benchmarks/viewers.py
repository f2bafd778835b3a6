"""python -m benchmarks.viewers PORT COUNT: follows a league with a number of pages, in a process of its own. It says
`ready` when each page has its first frame, and ends when the league's server is gone."""

from __future__ import annotations

import asyncio
import sys


async def _follow(port: int, first_frames: asyncio.Semaphore) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    writer.write(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    await reader.readuntil(b"\ndata: ")
    first_frames.release()
    while await reader.read(1 << 16):
        pass
    writer.close()


async def _main(port: int, count: int) -> None:
    first_frames = asyncio.Semaphore(0)
    following = [asyncio.create_task(_follow(port, first_frames)) for _ in range(count)]
    for _ in following:
        await first_frames.acquire()
    print("ready", flush=True)
    await asyncio.gather(*following)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
