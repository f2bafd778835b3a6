"""A player after D2: message types as methods, asyncio streams, the base fields in every answer.

Run: python by_type.py PORT MANAGER
"""

import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit


class Player:
    def __init__(self, port: int) -> None:
        self.port, self.id, self.token = port, "UNREGISTERED", ""
        self.history: list[Any] = []

    def say(self, kind: str, conversation: str, **fields: Any) -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"player:{self.id}",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "conversation_id": conversation,
            "auth_token": self.token,
            **fields,
        }

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        conversation = params["conversation_id"]
        if method == "GAME_INVITATION":
            arrived = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            join = {"match_id": params["match_id"], "player_id": self.id, "arrival_timestamp": arrived, "accept": True}
            return self.say("GAME_JOIN_ACK", conversation, **join)
        if method == "CHOOSE_PARITY_CALL":
            choice = "odd" if len(self.history) % 2 else "even"
            fields = {"match_id": params["match_id"], "player_id": self.id, "parity_choice": choice}
            return self.say("CHOOSE_PARITY_RESPONSE", conversation, **fields)
        if method == "GAME_OVER":
            self.history.append(params["game_result"])
        if method in ("GAME_OVER", "GAME_ERROR", "ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED"):
            return {"status": "ok"}
        return {"status": "ok"} if method == "LEAGUE_STANDINGS_UPDATE" else None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        call = json.loads(await reader.readexactly(int(length.split(":")[1])))
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        result = self.answer(call["method"], call.get("params", {})) if call["method"].isupper() else None
        answer |= {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
        body = json.dumps(answer).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def register(self, manager: str) -> None:
        parts = urlsplit(manager)
        endpoint = f"http://127.0.0.1:{self.port}/mcp"
        meta = {"display_name": "Beta", "version": "0.1.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
        message = self.say("LEAGUE_REGISTER_REQUEST", "reg-1", player_meta=meta)
        del message["auth_token"]
        call = {"jsonrpc": "2.0", "id": 1, "method": "LEAGUE_REGISTER_REQUEST", "params": message}
        body = json.dumps(call).encode()
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        result = json.loads((await reader.read()).partition(b"\r\n\r\n")[2])["result"]
        self.id, self.token = result["player_id"], result["auth_token"]


async def main() -> None:
    player = Player(int(sys.argv[1]))
    server = await asyncio.start_server(player.serve, "127.0.0.1", player.port)
    if len(sys.argv) > 2:
        await player.register(sys.argv[2])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
