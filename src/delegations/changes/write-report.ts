import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { reportPath } from "../../contracts/report-path.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import type { Failure } from "../../events/delegation.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import { replaceFile } from "../../workspaces/replace-file.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** What is known of a child's work when its report is written. */
type ReportState = "handed in" | "completed" | Failure;

/**
 * Writes a child's report where its contract says, below the workspace and never through a link
 * that leaves it. The same output written twice is the same file, so a crash in between is harmless.
 * Undefined when the contract wants no file, or the workspace cannot take one: the log has it all.
 * Nobody's version control is to ask about our own folder; whoever wants to keep what is in there
 * removes the `.gitignore`, which comes with the folder and never again.
 */
export async function writeReport(
  agent: LiveDelegation,
  text: string,
  state: ReportState,
): Promise<string | undefined> {
  const pattern = agent.contract.outputs.report_path_pattern;
  const { contract, run } = agent;
  if (pattern === null || run.workspace === null || contract.parent.depth === 0) return undefined;
  const idx = contract.outputs.report_index ?? placeOf(agent);
  const path = reportPath(pattern, { run: contract.parent.run_id, id: agent.id, idx });
  try {
    // In the run's own folder, also when the child has a copy: a report is no change to merge.
    const workspace = bindWorkspace({
      root: run.workspace,
      isolation: "shared",
      allowWrites: false,
      forbidden: run.parts.forbidden,
    });
    const folder = resolveInside(workspace, dirname(path)).path;
    // No links on the way: a report goes where its contract says, and nowhere else.
    if (folder !== join(workspace.root, dirname(path))) return undefined;
    // What the next start reads, for instance a folder of profiles that the configuration names.
    if (run.parts.guarded.some((place) => isBelow(join(folder, basename(path)), place)))
      return undefined;
    const ours = join(workspace.root, ".mandate", "reports");
    const isNew = isBelow(folder, ours) && mkdirSync(ours, { recursive: true }) !== undefined;
    mkdirSync(folder, { recursive: true });
    if (isNew) await writeInto(ours, workspace.root, ".gitignore", "*\n").catch(() => false);
    const isWritten = await writeInto(
      folder,
      workspace.root,
      basename(path),
      reportOf(agent, text, state),
    );
    return isWritten ? path : undefined;
  } catch {
    return undefined;
  }
}

/** False where the folder is not below the workspace any more: a link can come at any moment. */
async function writeInto(
  folder: string,
  workspace: string,
  name: string,
  text: string,
): Promise<boolean> {
  const place = bindWorkspace({ root: folder, isolation: "custom", allowWrites: true });
  if (!isBelow(place.root, workspace)) return false;
  await replaceFile(place, name, Buffer.from(text));
  return true;
}

/** In contracts of earlier versions, which counted children as they were made: each worker its own. */
function placeOf({ contract, id, run }: LiveDelegation): string {
  const { step_idx: step } = contract.parent;
  return run.execution.log === null ? String(step) : `${step}-${id}`;
}

/** A report never reads as a success that did not happen: its first lines say how the child ended. */
function reportOf({ contract }: LiveDelegation, text: string, state: ReportState): string {
  const { parent, profile, step } = contract;
  const facts = [
    `- status: ${statusLine(state)}`,
    `- profile: ${profile.id}`,
    `- run: ${parent.run_id}`,
    `- step: ${parent.step_idx}`,
  ];
  const refusal =
    typeof state === "string"
      ? []
      : [`Not accepted: ${state.error}`, "The report below does not count."];
  return `${[`# ${step.title}`, facts.join("\n"), ...refusal, text].join("\n\n")}\n`;
}

function statusLine(state: ReportState): string {
  if (state === "handed in") return "not accepted yet: its changes are not merged";
  return state === "completed" ? state : `failed (${state.code})`;
}
