import { parseWorkflow } from "./parse-workflow.ts";
import type { WorkflowReply, WorkflowRequest } from "./workflow-request.ts";
import { WorkflowVm, type WorkflowVmOptions } from "./workflow-vm.ts";

export const head = "export const meta = { name: 'm', description: 'd' }\n";

type Ended = { readonly result: unknown } | { readonly failed: string; readonly place?: string };

interface RanScript {
  readonly ended: Ended | "waits";
  readonly logs: readonly string[];
  readonly phases: readonly string[];
}

/** Runs a script whose agents all answer with their prompts, and whose timers fire at once. */
export async function runScript(
  script: string,
  options: Partial<WorkflowVmOptions> = {},
): Promise<RanScript> {
  const parsed = parseWorkflow(script.includes("export const meta") ? script : head + script);
  if ("problem" in parsed) throw new Error(parsed.problem.message);
  const logs: string[] = [];
  const phases: string[] = [];
  const vm = await WorkflowVm.open({ body: parsed.body, total: null, ...options });
  try {
    const open = [...(await vm.begin())];
    for (let one = open.shift(); one !== undefined; one = open.shift()) {
      if (one.kind === "log") logs.push(one.text);
      else if (one.kind === "phase") phases.push(one.title);
      else if (one.kind === "done")
        return { ended: { result: JSON.parse(one.json) }, logs, phases };
      else if (one.kind === "failed") {
        const { message, name } = one.error;
        const ended = { failed: `${name}: ${message}`, ...(one.place && { place: one.place }) };
        return { ended, logs, phases };
      } else if (one.kind !== "clear") open.push(...(await vm.reply([{ reply: answer(one) }])));
    }
    return { ended: "waits", logs, phases };
  } finally {
    await vm.close();
  }
}

function answer(one: Extract<WorkflowRequest, { readonly id: number }>): WorkflowReply {
  const about = { id: one.id, spent: 3 };
  if (one.kind === "agent") return { ...about, value: one.prompt };
  if (one.kind === "timer") return { ...about, value: null };
  return { ...about, error: { name: "Error", message: "unknown" } };
}
