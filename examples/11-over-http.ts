/**
 * A server and its client: `mandate serve` runs in a process of its own, on any free port, and
 * answers from a playbook. The client starts a run, follows its events as they happen, and reads the
 * result. Every request presents a token; one that may only read starts nothing.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MandateApiError, MandateClient } from "mandate/client";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const project = join(root, "project");
mkdirSync(project);
const playbook = join(root, "playbook.yaml");
writeFileSync(
  playbook,
  `version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: summarizer, task: "Count the lamps" } }]
  - { when: { depth: 0 }, text: "The harbour is lit." }
  - { text: "There are two." }
`,
);

// Where the package is installed, this is `mandate serve`.
const binary = fileURLToPath(new URL("../src/mandate.ts", import.meta.url));
const words = [
  binary,
  "serve",
  "--workspace=project",
  "--port=0",
  "--print-token",
  `--playbook=${playbook}`,
];
const server = spawn(process.execPath, words, {
  cwd: root,
  env: { HOME: root, MANDATE_HOME: join(root, "home"), PATH: process.env["PATH"] },
  stdio: ["ignore", "pipe", "ignore"],
});
let said = "";
for await (const piece of server.stdout.setEncoding("utf8")) {
  said += piece;
  if (said.includes("The token is ")) break;
}
const [, url = ""] = /listens at (\S+)/.exec(said) ?? [];
const [, token = ""] = /The token is (\S+)/.exec(said) ?? [];

/** What a program somewhere else does, and whether it went as it should. */
async function talkToServer(): Promise<boolean> {
  const client = new MandateClient({ url, token });
  const { runId } = await client.startRun({ profile: "general", task: "Is the harbour lit?" });
  const seen: string[] = [];
  for await (const { summary, type } of client.events({ runId })) {
    seen.push(type);
    console.log(`${type}: ${summary}`);
  }
  const { state, tree } = await client.waitFor(runId);
  const delegationId = tree[0]?.delegationId ?? "";
  const { result } = await client.getDelegationResult({ delegationId });
  console.log(state, "·", result);

  const { token: narrow } = await client.createToken({ name: "board", role: "viewer" });
  const viewer = new MandateClient({ url, token: narrow });
  const refusal = await viewer.startRun({ task: "Something else" }).catch((error) => error);
  console.log("a viewer:", refusal instanceof MandateApiError ? refusal.message : refusal);
  return (
    state === "succeeded" &&
    seen.filter((type) => type === "agent.subagent_closed").length === 2 &&
    result === "The harbour is lit." &&
    refusal instanceof MandateApiError &&
    refusal.status === 403
  );
}

try {
  if (!(await talkToServer())) process.exitCode = 1;
} finally {
  const exited = once(server, "exit");
  server.kill("SIGTERM");
  await exited;
  rmSync(root, { recursive: true, force: true });
}
