import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { RunRequest } from "../../ports/delegator.ts";
import { ModelFault } from "../../ports/model.ts";
import type { TestEngine } from "../../testing/engine-fixture.ts";
import { conformance } from "./conformance.test-support.ts";
import type { WorkflowDocument } from "./workflow-document.ts";

export const head = "export const meta = { name: 'm', description: 'd' }\n";

/**
 * Answers as the provider of the conformance cases does: ECHO<x> with x, FAIL400 with a fault, SLEEPn
 * later, a schema with a value that fits it. `asked` notes the tasks.
 */
export function echoModel(asked: string[] = [], { faults = true } = {}): Script {
  return async ({ caller, messages }) => {
    const { task } = caller;
    asked.push(task);
    const ms = Number(/SLEEP(\d+)/.exec(task)?.[1] ?? 0);
    if (faults && task.includes("FAIL400")) {
      throw new ModelFault("rejected", "400: no");
    }
    const opening = messages.find(({ role }) => role === "user")?.text ?? "";
    const hasSchema = opening.includes("JSON Schema:") && !task.includes("NOSTRUCT");
    const text =
      /ECHO<([^>]*)>/.exec(task)?.[1] ??
      (hasSchema ? '{"a":"text","n":5,"l":[true,true]}' : "plain text answer");
    return { text, ...(ms > 0 && { latency_ms: ms }), usage: { prompt: 10, completion: 5 } };
  };
}

/** The request of a run that carries out a script. */
export async function requestOf(
  { store, workspace }: Pick<TestEngine, "store" | "workspace">,
  script: string,
  { args, limits, resumes, ...request }: WorkflowWishes = {},
): Promise<RunRequest> {
  const document: WorkflowDocument = {
    script: script.includes("export const meta") ? script : head + script,
    ...(args !== undefined && { args }),
    ...(limits && { limits }),
    ...(resumes !== undefined && { resumes }),
  };
  const { hash } = await store.keepArtifact(JSON.stringify(document));
  const context = `workflow ${hash}`;
  return { task: "m: d", profile: "workflow-runner", context, workspace, ...request };
}

interface WorkflowWishes extends Partial<RunRequest> {
  readonly args?: unknown;
  readonly limits?: WorkflowDocument["limits"];
  readonly resumes?: string;
}

/** The scripts that those of the conformance cases call by name. */
export function writeChildren(workspace: string): void {
  const folder = join(workspace, ".claude", "workflows");
  mkdirSync(folder, { recursive: true });
  for (const [name, script] of Object.entries(conformance.children)) {
    writeFileSync(join(folder, name), script);
  }
}
