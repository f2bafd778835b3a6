// Starts the player, plays a match with it, and stops it. Run: node --test

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const PLAYER = fileURLToPath(new URL("player.mjs", import.meta.url));

const envelope = (messageType, sender = "referee:REF01") => ({
  protocol: "league.v2",
  message_type: messageType,
  sender,
  timestamp: "2025-06-01T10:00:00Z",
  conversation_id: "test-R1M1-1",
  auth_token: "secret-of-the-referee",
});
const INVITATION = {
  ...envelope("GAME_INVITATION"),
  league_id: "test",
  round_id: 1,
  match_id: "R1M1",
  game_type: "even_odd",
  role_in_match: "PLAYER_A",
  opponent_id: "P02",
  player_id: "P01",
};
const CALL = {
  ...envelope("CHOOSE_PARITY_CALL"),
  match_id: "R1M1",
  player_id: "P01",
  game_type: "even_odd",
  context: { opponent_id: "P02", round_id: 1 },
  deadline: "2025-06-01T10:00:30Z",
};
const GAME_OVER = {
  ...envelope("GAME_OVER"),
  match_id: "R1M1",
  game_type: "even_odd",
  game_result: {
    status: "WIN",
    winner_player_id: "P02",
    drawn_number: 4,
    number_parity: "even",
    choices: { P01: "odd", P02: "even" },
    reason: "P02 chose even, number was 4 (even)",
  },
};

let player;
let url;
let registration;

// A league manager that accepts one player and keeps its registration.
const manager = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { id, params } = JSON.parse(text);
  registration = params;
  const given = { status: "ACCEPTED", player_id: "P01", league_id: "test", auth_token: "secret-of-P01" };
  const result = { ...envelope("LEAGUE_REGISTER_RESPONSE", "league_manager"), ...given };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
});

before(async () => {
  await once(manager.listen(0, "127.0.0.1"), "listening");
  const address = `http://127.0.0.1:${manager.address().port}/mcp`;
  const options = ["--manager", address, "--port", "0", "--name", "Tested"];
  player = spawn(process.execPath, [PLAYER, ...options], { stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(createInterface(player.stdout), "line");
  url = line.replace("ready: ", "");
  for (let tries = 0; tries < 200; tries++) { // until it has read the manager's answer
    const { result } = await call("handle_game_invitation", { ...INVITATION, match_id: "R0M1" });
    if (result.auth_token) break;
    await sleep(50);
  }
});

after(async () => {
  manager.close();
  manager.closeAllConnections();
  if (player.exitCode === null) {
    player.kill("SIGTERM");
    const [status] = await once(player, "exit");
    assert.equal(status, 0);
  }
});

/** Returns the HTTP status and the JSON-RPC answer. */
async function post(body) {
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return [response.status, await response.json()];
}

async function call(method, params) {
  const [status, answer] = await post(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }));
  assert.deepEqual([status, answer.jsonrpc, answer.id], [200, "2.0", 7]);
  return answer;
}

test("it registers with its name and its address", () => {
  const { display_name, contact_endpoint } = registration.player_meta;
  assert.deepEqual([display_name, contact_endpoint], ["Tested", url]);
});

test("it plays a match", async () => {
  const { result: joined } = await call("handle_game_invitation", INVITATION);
  assert.deepEqual([joined.message_type, joined.accept], ["GAME_JOIN_ACK", true]);
  assert.deepEqual([joined.sender, joined.match_id, joined.player_id], ["player:P01", "R1M1", "P01"]);
  assert.equal(joined.auth_token, "secret-of-P01");
  const { result: chosen } = await call("parity_choose", CALL);
  assert.deepEqual([chosen.message_type, chosen.match_id], ["CHOOSE_PARITY_RESPONSE", "R1M1"]);
  assert.ok(["even", "odd"].includes(chosen.parity_choice));
  for (let times = 0; times < 5; times++) {
    const { result: again } = await call("parity_choose", CALL);
    assert.equal(again.parity_choice, chosen.parity_choice);
  }
  const { result: told } = await call("notify_match_result", GAME_OVER);
  assert.deepEqual([told.message_type, told.status], ["GAME_OVER_ACK", "ACKNOWLEDGED"]);
});

test("nobody but the first caller of a match gets an answer", async () => {
  const match = { match_id: "R3M1" };
  assert.equal((await call("handle_game_invitation", { ...INVITATION, ...match })).result.accept, true);
  for (const stranger of [{ auth_token: "another" }, { auth_token: null }, { auth_token: "another", attempt: 2 }]) {
    for (const [method, message] of [["handle_game_invitation", INVITATION], ["parity_choose", CALL]]) {
      const { error } = await call(method, { ...message, ...match, ...stranger });
      assert.equal(error.data.error_code, "E012");
    }
  }
  const { result } = await call("parity_choose", { ...CALL, ...match });
  assert.ok(["even", "odd"].includes(result.parity_choice));
});

test("it answers a ping", async () => {
  assert.deepEqual((await call("ping", {})).result, {});
});

test("it refuses what is wrong and lives on", async () => {
  assert.equal((await call("make_coffee", {})).error.code, -32601);
  const { error } = await call("handle_game_invitation", { ...INVITATION, round_id: "1" });
  assert.equal(error.data.error_code, "E007");
  assert.ok(!JSON.stringify(error).includes("secret"));
  const [status, answer] = await post('{"jsonrpc": "2.0", "id": 1,');
  assert.deepEqual([status, answer.error.code], [400, -32700]);
  assert.deepEqual((await call("ping", {})).result, {});
});
