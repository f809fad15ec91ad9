import type { ScriptedReply } from "../../src/models/scripted/playbook.ts";
import type { Script } from "../../src/models/scripted/scripted-model.ts";
import type { ModelRequest } from "../../src/ports/model.ts";
import { latencyOf, type Part, partsOf } from "./cast.ts";
import { delegated, doings, type Role, results } from "./doings.ts";
import type { Job } from "./job.ts";

/** The model of the whole run: the root's turns, and those of whoever it delegates to. */
export function scriptFor(job: Pick<Job, "children" | "cast" | "rounds" | "speed">): Script {
  const parts = partsOf(job.children, job.cast);
  return (request) => {
    const { profile } = request.caller;
    const reply =
      profile === "lead" ? lead(request, parts) : doings[profile as Role](request, job.rounds);
    return { ...reply, latency_ms: Math.max(1, Math.round(latencyOf(request) / job.speed)) };
  };
}

function lead(request: ModelRequest, parts: readonly Part[]): ScriptedReply {
  switch (request.caller.turn) {
    case 1:
      return { calls: [{ tool: "list_files", input: { path: "docs" } }] };
    case 2:
      return {
        calls: parts.map(({ role, way, task }) => ({ tool: way, input: { profile: role, task } })),
      };
    case 3:
      return { calls: [{ tool: "spawn_await", input: { job_ids: jobsOf(request) } }] };
    case 4:
      return {
        calls: [
          { tool: "write_file", input: { path: "out/summary.md", content: summary(request) } },
        ],
      };
    case 5:
      return { calls: [{ tool: "read_file", input: { path: "out/summary.md" } }] };
    default:
      return { text: results(request).at(-1) ?? "" };
  }
}

function jobsOf({ messages }: ModelRequest): string {
  const jobs = messages.flatMap((message) =>
    message.role === "tool" && message.tool === "spawn" ? [message.text] : [],
  );
  // With few children nobody is spawned; the tool then says so.
  return jobs.length > 0 ? jobs.join(",") : "*";
}

/** Ids differ from run to run, what was found does not. */
function summary(request: ModelRequest): string {
  const spawned =
    results(request)
      .at(-1)
      ?.replaceAll(/^\[\S+: (\w+)\]$/gm, "$1") ?? "";
  return `${[...delegated(request), spawned].join("\n")}\n`;
}
