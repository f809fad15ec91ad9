/**
 * An agent program of others under a contract. The program here is a script of thirty lines that speaks
 * the Agent Client Protocol; `runner: { agent: "claude-code" }` names a real one. It works in a sandbox,
 * in a copy of the workspace: what it writes there is merged, and what it tries elsewhere has no effect.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createMandate } from "mandate";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const workspace = join(root, "harbour");
mkdirSync(workspace);
execFileSync("git", ["init", "-q", workspace]);
writeFileSync(join(workspace, "lamps.txt"), "north: off\n");

/** The program runs on this Node, which its sandbox shows where it is on the PATH. */
const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;

/** A program as others write it: requests in, answers and updates out, one JSON document a line. */
const program = join(root, "lamp-agent.mjs");
writeFileSync(
  program,
  `#!/usr/bin/env node
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const update = (update) => send({ method: "session/update", params: { sessionId: "s", update } });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") {
    const agentInfo = { name: "lamp-agent", version: "1.0.0" };
    send({ id, result: { protocolVersion: 1, agentInfo, agentCapabilities: {} } });
  } else if (method === "session/new") {
    send({ id, result: { sessionId: "s" } });
  } else if (method === "session/prompt") {
    update({ sessionUpdate: "tool_call", toolCallId: "1", title: "Light the lamp", kind: "edit" });
    writeFileSync("lamps.txt", "north: on\\n");
    update({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" });
    try { writeFileSync(${JSON.stringify(join(root, "outside.txt"))}, "x"); } catch {}
    const text = "The lamp is lit.";
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    send({ id, result: { stopReason: "end_turn" } });
  }
});
`,
  { mode: 0o755 },
);

const mandate = await createMandate({
  cwd: workspace,
  // This program asks no model, so that the key is not used.
  environment: {
    ...{ HOME: root, MANDATE_HOME: join(root, "home"), PATH: path },
    ANTHROPIC_API_KEY: "none",
  },
  profiles: [
    {
      name: "lamplighter",
      description: "Lights lamps",
      prompt: "You light lamps.",
      capabilities: ["primary", "subtask"],
      origin: "example",
      runner: { acp: [program] },
      // What the program does by itself has to be granted: reading, writing and running commands.
      tools: ["read_file", "list_files", "write_file", "edit_file", "shell"],
    },
  ],
});
try {
  const result = await mandate.delegate({ profile: "lamplighter", task: "Light it", workspace });
  console.log(result.status, "·", result.result);
  console.log("lamps.txt:", readFileSync(join(workspace, "lamps.txt"), "utf8").trim());
  const isRight =
    result.status === "completed" &&
    result.result === "The lamp is lit." &&
    readFileSync(join(workspace, "lamps.txt"), "utf8") === "north: on\n" &&
    !existsSync(join(root, "outside.txt"));
  if (!isRight) process.exitCode = 1;
} finally {
  await mandate.close();
  rmSync(root, { recursive: true, force: true });
}
