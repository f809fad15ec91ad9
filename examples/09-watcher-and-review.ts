/**
 * Two ways to have somebody look. A watcher (`/pair on`) is shown a session as it goes on and may
 * interject; what it says as `warn` is read before the next turn. A review (`exit.review`) stands
 * between a child and its end: what is handed in goes to the reviewer as a diff, comes back with
 * what is to be changed, and is merged when it was approved.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate, type ModelRequest } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const project = join(root, "project");
mkdirSync(project);
const remarked = Promise.withResolvers<void>();
let heard = false;
let reviews = 0;

const mandate = await createMandate({
  cwd: project,
  environment: { HOME: root, PATH: process.env["PATH"] },
  database: ":memory:",
  // By default a watcher is shown what is new every two seconds.
  limits: { watchIntervalMs: 5 },
  profiles: [
    {
      name: "lead",
      description: "Has a page written",
      capabilities: ["primary"],
      prompt: "You lead.",
      origin: "example",
      tools: ["list_files", "read_file", "write_file", "submit_for_review", "delegate_task"],
    },
    {
      name: "scribe",
      description: "Writes a page",
      capabilities: ["subtask"],
      prompt: "You write.",
      // A reviewer is a child of the one it reviews: it reads because the scribe may.
      tools: ["read_file", "write_file", "submit_for_review"],
      exit: { tools: ["submit_for_review"], review: { profile: "reviewer", rounds: 3 } },
      origin: "example",
    },
  ],
  scripted: scriptedModel((request) => answers[request.caller.profile]?.(request) ?? "?"),
});

const answers: Record<string, (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>> = {
  async lead({ caller, messages }) {
    if (caller.turn === 1) return { calls: [{ tool: "list_files" }] };
    if (caller.turn === 2) {
      await remarked.promise;
      return { calls: [{ tool: "list_files" }] };
    }
    heard ||= messages.some(({ text }) => text.includes("nobody has said for whom"));
    if (caller.turn > 3) return { text: "The page is there." };
    const input = { profile: "scribe", task: "Write page.md for sailors." };
    return { calls: [{ tool: "delegate_task", input }] };
  },
  pair({ messages }) {
    const hasSpoken = messages.some(({ role }) => role === "tool");
    if (hasSpoken) return { text: "ok" };
    const message = "A page is to be written, and nobody has said for whom.";
    return { calls: [{ tool: "interject", input: { severity: "warn", message } }] };
  },
  scribe({ caller }) {
    const content = `# Tides, version ${Math.ceil(caller.turn / 2)}\n`;
    const write = { tool: "write_file", input: { path: "page.md", content } };
    const submit = { tool: "submit_for_review", input: { message: "page.md is written." } };
    return { calls: [caller.turn % 2 === 1 ? write : submit] };
  },
  reviewer({ caller }) {
    // The shipped reviewer is not believed before it has looked at something.
    if (caller.turn === 1) return { calls: [{ tool: "read_file", input: { path: "page.md" } }] };
    const verdict = ++reviews === 1 ? "changes" : "approve";
    return { text: `I have read page.md.\nVERDICT: ${verdict}` };
  },
};

mandate.on("agent.interjected", ({ payload }) => {
  if (!payload.from.startsWith("watcher:")) return;
  console.log(`${payload.severity}: ${payload.message}`);
  remarked.resolve();
});

const { result, runId } = await mandate.start({
  profile: "lead",
  task: "A page",
  workspace: project,
  maxTokens: 200_000,
});
const operator = { id: "example", role: "operator", run: runId } as const;
console.log((await mandate.command("/pair on", operator)).reply);
const { status, subDelegations = [] } = await result;
const scribe = subDelegations.find(({ profile }) => profile === "scribe");
console.log(`${scribe?.closeReason} after ${reviews} reviews:`, scribe?.result);
for (const { kind, title } of await mandate.inbox.read()) console.log(`inbox · ${kind}: ${title}`);

const report = await mandate.verify();
await mandate.close();
const isRight =
  status === "completed" &&
  heard &&
  reviews === 2 &&
  scribe?.closeReason === "integrated" &&
  readFileSync(join(project, "page.md"), "utf8") === "# Tides, version 2\n" &&
  report.ok;
rmSync(root, { recursive: true, force: true });
if (!isRight) process.exitCode = 1;
