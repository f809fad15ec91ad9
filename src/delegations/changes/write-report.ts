import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { reportPath } from "../../contracts/report-path.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import type { Failure } from "../../events/delegation.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import { replaceFile } from "../../workspaces/replace-file.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** The state of a child's work when its report is written. */
type ReportState = "handed in" | "completed" | Failure;

/**
 * Writes a child's report where its contract says, below the workspace and never through a link.
 * Writing the same output twice gives the same file, so a crash in between is harmless.
 * Undefined when the contract wants no file, or the workspace cannot take one: the log has the
 * output. A `.gitignore` comes with our own folder, once; a person may remove it to keep reports.
 */
export async function writeReport(
  child: LiveDelegation,
  text: string,
  state: ReportState,
): Promise<string | undefined> {
  const { contract, id, run } = child;
  const { report_index: index, report_path_pattern: pattern } = contract.outputs;
  const { depth, run_id: runId, step_idx: step } = contract.parent;
  if (pattern === null || run.settings.workspace === null || depth === 0) return undefined;
  // Contracts of earlier versions have no index; on distributed runs, their step was not unique.
  const idx = index ?? (run.execution.log === null ? String(step) : `${step}-${id}`);
  const path = reportPath(pattern, { run: runId, id, idx });
  try {
    // In the run's own folder, also when the child has a copy: a report is no change to merge.
    const workspace = bindWorkspace({
      root: run.settings.workspace,
      isolation: "shared",
      allowWrites: false,
      forbidden: run.parts.forbidden,
    });
    const folder = resolveInside(workspace, dirname(path)).path;
    if (folder !== join(workspace.root, dirname(path))) return undefined;
    // Guarded: configuration that the next start reads, for instance a folder of profiles.
    const target = join(folder, basename(path));
    if (run.parts.guarded.some((place) => isBelow(target, place))) return undefined;
    const ours = join(workspace.root, ".mandate", "reports");
    const isNew = isBelow(folder, ours) && mkdirSync(ours, { recursive: true }) !== undefined;
    mkdirSync(folder, { recursive: true });
    const write = async (into: string, name: string, content: string): Promise<boolean> => {
      const place = bindWorkspace({ root: into, isolation: "custom", allowWrites: true });
      // Checked again: a link can appear at any moment.
      if (!isBelow(place.root, workspace.root)) return false;
      await replaceFile(place, name, Buffer.from(content));
      return true;
    };
    if (isNew) await write(ours, ".gitignore", "*\n").catch(() => false);
    const isWritten = await write(folder, basename(path), reportOf(child, text, state));
    return isWritten ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first lines say how the child closed, so that no report reads as a success by mistake. */
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
