/**
 * Children in the background: `spawn` gives a job's id at once, the parent does something else, and
 * `spawn_await` takes the results when they are needed. Answers stand in the order of the jobs,
 * however they finished, and a job that failed costs nobody else's answer.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = mkdtempSync(join(tmpdir(), "mandate-example-"));
const project = join(root, "project");
mkdirSync(project);

const harbours = ["Kiel", "Atlantis", "Bergen"];
const titles = new Map<string, string>();
const closed: string[] = [];

const mandate = await createMandate({
  cwd: project,
  environment: { HOME: root },
  // Our own agents have the two tools where the configuration says so.
  config: { tools: { spawn: { enabled: true } } },
  database: ":memory:",
  profiles: [
    {
      name: "harbour-master",
      description: "Asks for tides",
      capabilities: ["primary"],
      prompt: "You ask several people at once.",
      tools: ["spawn", "spawn_await", "list_files"],
      origin: "example",
    },
  ],
  scripted: scriptedModel(({ caller, messages }): ScriptedReply => {
    if (caller.depth === 1) return tideOf(caller.task);
    if (caller.turn === 1) {
      return { calls: harbours.map((task) => ({ tool: "spawn", input: { task } })) };
    }
    // The jobs are at work; the parent is not held up.
    if (caller.turn === 2) return { calls: [{ tool: "list_files" }] };
    if (caller.turn === 3) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
    return { text: messages.at(-1)?.text ?? "" };
  }),
});

/** The first one asked takes the longest, and the second is refused by the provider. */
function tideOf(harbour: string): ScriptedReply {
  if (harbour === "Atlantis") return { fault: "rejected", partial: "No such harbour." };
  return { text: `High water in ${harbour} at noon.`, latency_ms: harbour === "Kiel" ? 150 : 5 };
}

mandate.on("agent.subagent_created", ({ payload, sub_agent_id: id = "" }) => {
  titles.set(id, payload.title);
});
mandate.on("agent.subagent_closed", ({ payload, sub_agent_id: id = "" }) => {
  closed.push(`${titles.get(id)} ${payload.final_status}`);
});

const { result, status, subDelegations } = await mandate.delegate({
  profile: "harbour-master",
  task: "When is high water?",
  workspace: project,
});
console.log(result);
console.log("closed in this order:", closed.join(", "));

const report = await mandate.verify();
await mandate.close();
rmSync(root, { recursive: true, force: true });
const isRight =
  status === "completed" &&
  /\[\w+: OK\]\n.*Kiel.*\[\w+: ERROR\].*\[\w+: OK\]\n.*Bergen/s.test(result) &&
  subDelegations?.length === 3 &&
  report.ok;
if (!isRight) process.exitCode = 1;
