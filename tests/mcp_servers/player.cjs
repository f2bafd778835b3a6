// A player written with the TypeScript SDK 2 that takes requests of MCP's newest era alone: `node player.cjs`, with its
// packages in NODE_PATH (the Makefile installs them). It says `ready: NAME URL`.
const http = require("node:http");
const { McpServer, createMcpHandler } = require("@modelcontextprotocol/server");
const { toNodeHandler } = require("@modelcontextprotocol/node");
const { z } = require("zod");

function answer(content) {
  return { content: [{ type: "text", text: JSON.stringify(content) }], structuredContent: content };
}

function player() {
  const server = new McpServer({ name: "player", version: "1.0.0" });
  server.registerTool(
    "handle_game_invitation",
    { inputSchema: z.strictObject({ match_id: z.string(), opponent_id: z.string() }) },
    async ({ match_id }) => answer({ accept: true, match_id }),
  );
  server.registerTool(
    "choose_parity",
    { inputSchema: z.strictObject({ match_id: z.string(), deadline: z.string() }) },
    async () => answer({ parity_choice: "even" }),
  );
  server.registerTool(
    "notify_match_result",
    { inputSchema: z.strictObject({ game_result: z.object({ winner_player_id: z.string().nullable() }) }) },
    async ({ game_result }) => answer({ winner: game_result.winner_player_id }),
  );
  return server;
}

const handler = toNodeHandler(createMcpHandler(player, { legacy: "reject" }));
const server = http.createServer((request, response) => void handler(request, response));
server.listen(0, "127.0.0.1", () =>
  console.log(`ready: TypeScript SDK 2, no handshake http://127.0.0.1:${server.address().port}/mcp`),
);
