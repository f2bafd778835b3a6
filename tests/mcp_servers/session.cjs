// The same as session.py with the TypeScript SDK 2: `node session.cjs ERA URL`, ERA being `legacy` or a version of MCP.
const { EventEmitter, once } = require("node:events");
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const STANDINGS = "league://standings";
const PATIENCE_MS = 60000;
const calls = new EventEmitter();

function callWhenAsked(client) {
  let done = 0;
  process.on("SIGUSR2", async () => {
    try {
      const result = await client.callTool({ name: "standings", arguments: {} }, { timeout: PATIENCE_MS });
      console.log(result.isError ? `failed: ${JSON.stringify(result.content)}` : `called: ${++done}`);
      calls.emit("answered");
    } catch (error) {
      console.log(`failed: ${error}`);
    }
  });
  console.log("ready");
}

async function keepFollowing(client) {
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => console.log(`told: ${params.uri}`));
  for (let opened = 0; ; ) {
    await once(calls, "answered");
    try {
      const subscription = await client.listen({ resourceSubscriptions: [STANDINGS] }, { timeout: PATIENCE_MS });
      console.log(`following: ${++opened}`);
      console.log(`lost: ${await subscription.closed}`);
    } catch (error) {
      console.log(`lost: ${error}`);
    }
  }
}

async function main(era, url) {
  const mode = era === "legacy" ? era : { pin: era };
  const client = new Client({ name: "session", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  callWhenAsked(client);
  setInterval(() => {}, PATIENCE_MS); // Node ends when it waits for signals alone
  if (era !== "legacy") await keepFollowing(client);
}

main(...process.argv.slice(2));
