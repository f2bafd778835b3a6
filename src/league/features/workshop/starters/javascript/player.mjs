// A player for leagues of Even/Odd (protocol league.v2). It needs only Node 22 or newer.
// Numbers in brackets are sections of the protocol's specification.

import { createHash, createHmac, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const NAME = "My player";

// === Your strategy goes here =========================================================================================

/**
 * Returns "even" or "odd", within 30 seconds. It may be async.
 *
 * `call` is the referee's question; `call.context` may have your opponent's id and your record so far.
 * `history` has the `game_result` of the matches you have played, the newest last.
 */
function chooseParity(call, history) {
  return Math.random() < 0.5 ? "even" : "odd";
}

// === Messages: the method of each, the type of its answer, and the fields it must have (5, 6.1) ======================

const OF_ROUND = { league_id: isString, round_id: Number.isInteger };
const OF_MATCH = { match_id: isString, game_type: isString };
const MESSAGES = {
  ROUND_ANNOUNCEMENT: ["notify_round", "ROUND_ANNOUNCEMENT_ACK", OF_ROUND],
  LEAGUE_STANDINGS_UPDATE: ["update_standings", "STANDINGS_UPDATE_ACK", OF_ROUND],
  ROUND_COMPLETED: ["notify_round_completed", "ROUND_COMPLETED_ACK", OF_ROUND],
  LEAGUE_COMPLETED: ["notify_league_completed", "LEAGUE_COMPLETED_ACK", { league_id: isString }],
  GAME_INVITATION: ["handle_game_invitation", "GAME_JOIN_ACK", { ...OF_ROUND, ...OF_MATCH }],
  CHOOSE_PARITY_CALL: ["parity_choose", "CHOOSE_PARITY_RESPONSE", OF_MATCH],
  GAME_OVER: ["notify_match_result", "GAME_OVER_ACK", { ...OF_MATCH, game_result: isObject }],
  GAME_ERROR: ["notify_game_error", "GAME_ERROR_ACK", { error_code: isString }],
  LEAGUE_ERROR: ["notify_league_error", "LEAGUE_ERROR_ACK", { error_code: isString }],
};
const ENVELOPE = {
  protocol: isString, message_type: isString, sender: isString, timestamp: isString, conversation_id: isString,
};
const BY_METHOD = new Map(Object.entries(MESSAGES).map(([name, [method]]) => [method, name]));
BY_METHOD.set("choose_parity", "CHOOSE_PARITY_CALL");

function isString(value) {
  return typeof value === "string";
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The request is answered with an error that has this code. */
class Refusal extends Error {
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

/** Returns the type of a valid message. Unknown fields are ignored (2.3, 3.1). */
function readType(method, message) {
  const called = BY_METHOD.get(method) ?? method.toUpperCase();
  const said = message.message_type;
  if (!Object.hasOwn(MESSAGES, called) && !(isString(said) && Object.hasOwn(MESSAGES, said))) {
    throw new Refusal("E036", "this player has no such method");
  }
  mustHave(ENVELOPE, message);
  if (message.protocol !== "league.v2") throw new Refusal("E018", "protocol is not league.v2");
  if (!Object.hasOwn(MESSAGES, said) || (Object.hasOwn(MESSAGES, called) && called !== said)) {
    throw new Refusal("E038", "message_type does not fit the method");
  }
  mustHave(MESSAGES[said][2], message);
  return said;
}

function mustHave(fields, message) {
  for (const [name, isRight] of Object.entries(fields)) {
    if (message[name] == null) throw new Refusal("E003", `${name} is missing`);
    if (!isRight(message[name])) throw new Refusal("E007", `${name} is of the wrong type`);
  }
}

// === The player ======================================================================================================

// The manager will give us an id. `makesTokens` is true if tokens are derived from ours (9.3).
const player = { name: NAME, id: NAME, leagueId: "", token: "", makesTokens: false, matches: new Map() };

function envelope(messageType, conversationId) {
  return {
    protocol: "league.v2",
    message_type: messageType,
    sender: `player:${player.id}`,
    timestamp: new Date().toISOString().replace(/\.\d+/, ""),
    conversation_id: conversationId,
  };
}

/** Returns the whole answer to a message: the envelope, our id, and the round or match it is about. */
async function answerTo(name, message) {
  const answer = { ...envelope(MESSAGES[name][1], message.conversation_id), player_id: player.id };
  for (const field of ["round_id", "match_id"]) {
    if (message[field] != null) answer[field] = message[field];
  }
  let match;
  if (name === "GAME_INVITATION") {
    match = calledFor(message, message.attempt ?? 1);
    Object.assign(answer, { accept: message.game_type === "even_odd", arrival_timestamp: answer.timestamp });
  } else if (name === "CHOOSE_PARITY_CALL") {
    match = calledFor(message);
    answer.parity_choice = await choiceIn(match, message);
  } else {
    takeNote(name, message);
    return { ...answer, status: "ACKNOWLEDGED" };
  }
  return { ...answer, ...tokenFor(message.sender, message.match_id, match.attempt) };
}

/**
 * Returns the match that a referee calls about.
 *
 * The first caller of a match is its referee. Another caller gets an answer only if it shows the token that only the
 * referee of this match can have (9.2). Where there are no such tokens, another referee may replay a match that is over
 * (8.12).
 */
function calledFor({ sender, match_id: matchId, auth_token: shown = null }, attempt) {
  const known = player.matches.get(matchId);
  const right = derived(refereeIn(sender), player.id, matchId, attempt ?? known?.attempt ?? 1);
  const proven = right === "" ? known?.over && attempt > known.attempt : shown === right;
  if (known?.referee !== undefined && known.referee !== shown && !proven) {
    throw new Refusal("E012", "another is the referee of this match");
  }
  const match = matchOf(matchId, attempt);
  match.referee = shown;
  return match;
}

/** Returns what we know about a match. A match that is replayed has another attempt (8.12). */
function matchOf(matchId, attempt) {
  const known = player.matches.get(matchId);
  if (known && (attempt === undefined || attempt === known.attempt)) return known;
  const match = { attempt: attempt ?? 1 };
  player.matches.set(matchId, match);
  if (player.matches.size > 1000) player.matches.delete(player.matches.keys().next().value); // limits our memory
  return match;
}

/** Answers the same question with the same choice: the first answer may have been lost (6.7). */
async function choiceIn(match, { auth_token, ...call }) {
  const history = [...player.matches.values()].filter((played) => played.result).map((played) => played.result);
  match.choice ??= Promise.resolve().then(() => chooseParity(call, history));
  try {
    const choice = await match.choice;
    if (choice === "even" || choice === "odd") return choice;
    throw new Error(`chooseParity returned ${JSON.stringify(choice)}`);
  } catch (error) {
    delete match.choice;
    throw error;
  }
}

function takeNote(name, message) {
  if (name === "GAME_OVER") {
    const match = matchOf(message.match_id);
    match.result = message.game_result;
    match.over ||= match.referee === (message.auth_token ?? null);
    tell(`${message.match_id}: ${message.game_result.reason ?? message.reason}`);
  } else if (name === "GAME_ERROR") {
    tell(`the referee says ${message.error_code}: ${message.error_detail}`);
    const match = player.matches.get(message.match_id);
    // Our choice was illegal, and the next call asks for another one (6.5).
    if (message.error_code === "E004" && match?.referee === (message.auth_token ?? null)) delete match.choice;
  } else if (name === "LEAGUE_ERROR") {
    tell(`the manager says ${message.error_code}: ${message.error_detail}`);
  } else if (name === "LEAGUE_COMPLETED") {
    tell(`the league is over, the champion is ${JSON.stringify(message.champion)}`);
  }
}

/** Returns the token for a referee: derived from ours, which is for the manager, for this match only (9.3). */
function tokenFor(sender, matchId, attempt) {
  const token = derived(player.id, refereeIn(sender), matchId, attempt) || player.token;
  return token ? { auth_token: token } : {};
}

/** Returns the token that sender shows receiver in a match; empty if our manager does not derive tokens. */
function derived(sender, receiver, matchId, attempt) {
  if (!player.makesTokens) return "";
  const key = createHash("sha256").update(`derive\0${player.token}`).digest();
  const text = `league.v2|${sender}|${receiver}|${player.leagueId}|${matchId}|${attempt}`;
  return `tok_${sender}_${createHmac("sha256", key).update(text).digest("base64url")}`;
}

function refereeIn(sender) {
  return sender.slice(sender.indexOf(":") + 1);
}

/** Prints a line. Control characters are replaced, because others wrote part of it. */
function tell(text) {
  console.error(text.replace(/\p{C}/gu, "?"));
}

// === JSON-RPC (2.2, 2.6, 10) =========================================================================================

const ERRORS = {
  E003: ["MISSING_REQUIRED_FIELD", -32602],
  E007: ["INVALID_FIELD_TYPE", -32602],
  E012: ["AUTH_TOKEN_INVALID", 4001],
  E018: ["PROTOCOL_VERSION_MISMATCH", 4094],
  E034: ["MALFORMED_JSON", -32700],
  E035: ["INVALID_REQUEST", -32600],
  E036: ["UNKNOWN_METHOD", -32601],
  E038: ["MESSAGE_TYPE_MISMATCH", -32602],
  E099: ["INTERNAL_ERROR", -32603],
};

/** Returns the HTTP status and the JSON-RPC answer to the body of a request. */
async function respond(body) {
  const response = { jsonrpc: "2.0", id: null };
  let refusal;
  try {
    const request = readJson(body);
    if (!isObject(request) || request.jsonrpc !== "2.0") throw new Refusal("E035", "this is not a JSON-RPC 2.0 request");
    const { id = null, method, params = {} } = request;
    if ("id" in request && !(isString(id) || Number.isInteger(id) || JSON.isRawJSON(id))) {
      throw new Refusal("E035", "an id must be a string or an integer");
    }
    response.id = id;
    return [200, { ...response, result: await resultOf(method, params) }];
  } catch (error) {
    refusal = error;
  }
  if (!(refusal instanceof Refusal)) {
    console.error(refusal); // your strategy failed: you see the whole error, the referee does not
    refusal = new Refusal("E099", "the player has a bug");
  }
  const [name, number] = ERRORS[refusal.code];
  const data = { error_code: refusal.code, error_name: name, error_description: name, error_detail: refusal.message };
  const status = ["E034", "E035"].includes(refusal.code) ? 400 : 200;
  return [status, { ...response, error: { code: number, message: name, data } }];
}

async function resultOf(method, params) {
  if (method === "ping") return {};
  if (method === "tools/call" && isObject(params)) { // MCP: the same message in another wrapping
    const answer = await resultOf(params.name, params.arguments);
    return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: answer };
  }
  if (!isString(method)) throw new Refusal("E036", "a request needs a method");
  if (!isObject(params)) throw new Refusal("E007", "a message must be an object");
  return answerTo(readType(method, params), params);
}

/** Reads JSON that every reader understands in the same way. */
function readJson(body) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    JSON.parse(text); // throws if it is not JSON at all
    checkShape(text);
    return JSON.parse(text, checkValue);
  } catch (error) {
    throw new Refusal("E034", `this is not strict JSON: ${error.constructor.name}`);
  }
}

/** JSON.parse keeps the last of two equal keys, so we look at the text: at brackets, and strings before a colon. */
function checkShape(text) {
  const open = []; // the keys so far of every object we are in
  for (const [token, string, colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[\]{}]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon) {
      const key = JSON.parse(string);
      if (open.at(-1)?.has(key) || !isText(key)) throw new SyntaxError("a key twice, or a bad one");
      open.at(-1)?.add(key);
    }
    if (open.length > 16) throw new SyntaxError("too many levels");
  }
}

function checkValue(key, value, { source }) {
  if (isString(value) && !isText(value)) throw new SyntaxError("a bad string");
  if (typeof value !== "number") return value;
  if (!Number.isFinite(value)) throw new RangeError("a number is too large");
  if (!/^-?\d+$/.test(source)) return Object(value); // for Number.isInteger this is not an integer: 2.0 is not one here
  if (BigInt.asIntN(64, BigInt(source)) !== BigInt(source)) throw new RangeError("an integer of more than 64 bits");
  return Number.isSafeInteger(value) ? value : JSON.rawJSON(source); // so that an id is sent back unchanged
}

function isText(string) {
  return string.isWellFormed() && !string.includes("\0");
}

// === HTTP (2.1, 2.4, 2.5) ============================================================================================

const LARGEST = 2 ** 20;
const hosts = new Set();

const server = createServer({ requestTimeout: 60_000 }, (request, response) => {
  serve(request, response).catch(() => response.destroy()); // the caller is gone
});

async function serve(request, response) {
  let [status, answer] = [refusedStatus(request), {}];
  if (status) response.setHeader("Connection", "close"); // because its body is not read
  else {
    const body = await bodyOf(request);
    [status, answer] = body ? await respond(body) : [413, {}];
  }
  const text = JSON.stringify(answer);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

function refusedStatus({ method, url, headers }) {
  if (method !== "POST") return 405;
  if (url !== "/mcp") return 404;
  if (!hosts.has(headers.host)) return 421;
  if ("origin" in headers) return 403; // sent by a web page in a browser
  if (headers["content-type"]?.split(";")[0].trim().toLowerCase() !== "application/json") return 415;
  return 0;
}

/** Returns the body of a request; null if it is too large. */
async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= LARGEST) chunks.push(chunk);
  }
  return size <= LARGEST ? Buffer.concat(chunks) : null;
}

// === Registering (5.3, 7.2) ==========================================================================================

const PAUSES = [2, 4, 8, 16, 30];
const PASSING = ["E010", "E025", "E041", "E042", "E099"]; // errors that may not happen the next time

/** Tries until the manager accepts us (true) or rejects us for good (false). */
async function register(manager, endpoint) {
  const meta = { display_name: player.name, version: "1.0.0", game_types: ["even_odd"], contact_endpoint: endpoint };
  for (let attempt = 1; ; attempt++) {
    let reason, isPending = false;
    try {
      const params = { ...envelope("LEAGUE_REGISTER_REQUEST", `register-${attempt}`), player_meta: meta };
      const { result, error } = await post(manager, { jsonrpc: "2.0", id: attempt, method: "register_player", params });
      const said = result ?? error.data ?? error;
      if (["ACCEPTED", "REGISTERED"].includes(said.status) && said.player_id) {
        Object.assign(player, { id: said.player_id, leagueId: said.league_id ?? "", token: said.auth_token ?? "" });
        player.makesTokens = player.token !== "" && said.token_scheme === "derived";
        tell(`registered as ${player.id}`);
        return true;
      }
      reason = said.reason ?? said.error_detail ?? said.message;
      isPending = said.context?.pending === true; // wait for the operator's approval, and ask again (7.2)
      if (!PASSING.includes(said.error_code) && !isPending) {
        tell(`the manager rejected this player: ${reason}`);
        return false;
      }
    } catch (error) {
      reason = error.cause?.code ?? error.cause?.message ?? error.message; // nobody is there, or the answer is not JSON
    }
    const pause = isPending ? 5 : PAUSES[Math.min(attempt, PAUSES.length) - 1];
    tell(`not registered yet: ${reason}; next try in ${pause} s`);
    await new Promise((done) => setTimeout(done, pause * 1000));
  }
}

async function post(url, request) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
    redirect: "error",
    signal: AbortSignal.timeout(10_000),
  });
  return response.json();
}

// === Behind a router: a mailbox at the manager (mailboxes.md) ========================================================

const SECRET_FILE = "mailbox-secret";
const CLOSED = [403, 404, 405, 409];

/** Returns the key of our mailbox at this manager. The secret is kept in a file: with it we have our mailbox again. */
function mailboxKey({ origin }) {
  let secret;
  try {
    secret = readFileSync(SECRET_FILE, "utf8");
  } catch {
    secret = randomBytes(32).toString("hex");
    writeFileSync(SECRET_FILE, secret, { mode: 0o600 });
  }
  return createHash("sha256").update(`${secret}\n${origin}`).digest("hex");
}

/** Fetches the calls to us, for ever, and answers each as soon as we can. */
async function readMailbox({ origin }, key) {
  const ask = (what, content) => fetch(`${origin}/mailbox/${what}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}` },
    body: JSON.stringify(content),
    signal: AbortSignal.timeout(30_000),
  });
  const underWay = new Set();
  const answerLetter = async ({ letter, body, base64 }) => {
    const [status, answer] = await respond(Buffer.from(body, base64 ? "base64" : "utf8"));
    await ask("answer", { letter, status, body: JSON.stringify(answer) });
  };
  const reader = randomBytes(8).toString("hex");
  for (let after = 0; ; ) {
    try {
      const response = await ask("fetch", { reader, after, wait_s: 20 });
      if (CLOSED.includes(response.status)) exit(1, `the mailbox is closed: ${await response.text()}`);
      const { letters } = await response.json();
      for (const one of letters) {
        after = Math.max(after, one.letter);
        if (underWay.has(one.letter)) continue;
        underWay.add(one.letter);
        answerLetter(one).catch(() => (after = 0)).finally(() => underWay.delete(one.letter)); // fetched again
      }
    } catch (error) {
      after = 0; // all that have no answer come again
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

// === The program =====================================================================================================

const USAGE = "usage: node player.mjs [--manager URL] [--host ADDRESS] [--port PORT | --outbound] [--name NAME]";

function readOptions() {
  const text = (value) => ({ type: "string", default: value });
  const options = {
    manager: text("http://127.0.0.1:8000/mcp"),
    host: text("127.0.0.1"), // the address at which others reach this machine
    port: text("8101"), // 0 means any free port
    name: text(NAME),
    outbound: { type: "boolean" }, // nobody can reach this machine: play through a mailbox at the manager
    help: { type: "boolean" },
  };
  try {
    const { values } = parseArgs({ options });
    if (values.help) exit(0, USAGE);
    const manager = new URL(values.manager);
    if (manager.pathname === "/") manager.pathname = "/mcp";
    if (!/^\d{1,5}$/.test(values.port)) throw new Error(`${values.port} is not a port`);
    return { ...values, manager, port: Number(values.port) };
  } catch (error) {
    return exit(2, `${error.message}\n${USAGE}`);
  }
}

function exit(status, text) {
  if (text) (status ? console.error : console.log)(text);
  process.exit(status);
}

if (!JSON.isRawJSON) exit(1, `Node 22 or newer is needed; this is ${process.version}`);
const options = readOptions();
player.name = player.id = options.name;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => exit(0));
server.on("error", (error) => exit(1, `cannot listen at ${options.host}:${options.port}: ${error.message}`));
if (options.outbound) {
  const key = mailboxKey(options.manager);
  const name = createHash("sha256").update(key).digest("hex").slice(0, 32);
  readMailbox(options.manager, key);
  await begin(`${options.manager.origin}/mailbox/${name}/mcp`);
} else {
  server.listen(options.port, options.host, () => {
    const { port } = server.address();
    for (const host of [options.host, "127.0.0.1", "localhost"]) hosts.add(`${host}:${port}`);
    begin(`http://${options.host}:${port}/mcp`);
  });
}

async function begin(endpoint) {
  console.log(`ready: ${endpoint}`);
  if (!(await register(options.manager, endpoint))) exit(1);
}
