import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../../src/ports/store.ts";
import { resultOf } from "../../src/sessions/delegation-result.ts";
import { ledgerFile } from "./append-line.ts";

/** What a run came to, without ids and times: comparable with any other run of the same job. */
export interface Outcome {
  readonly run: string;
  readonly delegations: ReadonlyMap<string, DelegationOutcome>;
  /** Below out/: what the children wrote. */
  readonly files: ReadonlyMap<string, string>;
  /** What is wrong in itself, whatever another run came to. */
  readonly problems: readonly string[];
  /** Calls that are not idempotent and were cut: what they did is unknown, and said to be. */
  readonly cutCalls: number;
}

interface DelegationOutcome {
  readonly parent: string | null;
  readonly status: string;
  readonly reason: string;
  readonly text: string;
  readonly wasCut: boolean;
  /** The disk failed it, or a call of it. */
  readonly wasHit: boolean;
}

/** Why a delegation may end that could not write. */
const hitReasons: ReadonlySet<string> = new Set([
  "storage_full",
  "worker_lost",
  "merge_interrupted",
]);
const hitWords = /ENOSPC|EIO|No space left|Input\/output error|disk|refused a write/i;

export async function readOutcome(store: Store, workspace: string): Promise<Outcome> {
  const [row, ...others] = await store.listRuns({});
  const state = row && (await store.readRun(row.id));
  if (state === undefined) throw new Error("There is no run to look at.");
  const problems = others.length > 0 ? [`There are ${others.length + 1} runs instead of one.`] : [];
  const calls = new Ledger();
  for await (const event of store.readEvents({ runId: state.id })) {
    if (event.type === "agent.tool_completed") {
      const { tool, call_id: call, artifact } = event.payload;
      if (tool === "append_line") calls.completed.add(`${event.sub_agent_id} ${call}`);
      if (artifact && (await store.readArtifact(artifact.hash)) === undefined) {
        problems.push(`The artifact ${artifact.hash} is gone.`);
      }
    } else if (event.type === "agent.tool_failed" && hitWords.test(event.payload.error)) {
      calls.hit.add(event.sub_agent_id ?? "");
    } else if (event.type === "agent.tool_outcome_unknown") {
      calls.cut.add(`${event.sub_agent_id} ${event.payload.call_id}`);
    } else if (event.type === "agent.subagent_waiting_for_merge") {
      const { output_path: path } = event.payload;
      if (path !== undefined && !existsSync(join(workspace, path)))
        problems.push(`${path} is gone.`);
    }
  }
  problems.push(...calls.problems(join(workspace, ledgerFile)));
  const delegations = new Map<string, DelegationOutcome>();
  for (const { id, title, parentId } of state.delegations.values()) {
    const result = resultOf(state, id);
    if (delegations.has(title)) problems.push(`There are two delegations called ${title}.`);
    delegations.set(title, {
      parent: (parentId !== null && state.delegations.get(parentId)?.title) || null,
      status: result?.status ?? "open",
      reason: result?.closeReason ?? "",
      text: result?.result ?? "",
      wasCut: [...calls.cut].some((call) => call.startsWith(id)),
      wasHit: calls.hit.has(id) || hitReasons.has(result?.closeReason ?? ""),
    });
  }
  const run = state.outcome ?? "unfinished";
  return { run, delegations, files: filesIn(workspace), problems, cutCalls: calls.cut.size };
}

/** Calls that must be made at most once, by what the log says and by what the world shows. */
class Ledger {
  readonly completed = new Set<string>();
  readonly cut = new Set<string>();
  readonly hit = new Set<string>();

  problems(file: string): string[] {
    const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    const made = lines.map((line) => line.split(" ").slice(0, 2).join(" "));
    const once = new Set(made);
    return [
      ...made
        .filter((each, index) => made.indexOf(each) !== index)
        .map((each) => `${each} was made twice.`),
      ...[...this.completed]
        .filter((each) => !once.has(each))
        .map((each) => `${each} was not made.`),
      ...[...once]
        .filter((each) => !this.completed.has(each) && !this.cut.has(each))
        .map((each) => `${each} was made, and the log does not say so.`),
    ];
  }
}

function filesIn(workspace: string): Map<string, string> {
  const paths = globSync("out/*", { cwd: workspace });
  return new Map(paths.map((path) => [path, readFileSync(join(workspace, path), "utf8")]));
}

/**
 * Where a run came to something else than the undisturbed one, which only a cut call may lead to,
 * and, where the disk was made to fail, a delegation that was hit by it.
 */
export function differences(outcome: Outcome, undisturbed: Outcome, mayBeHit = false): string[] {
  const found: string[] = [];
  const excused = withThoseAbove(outcome, ({ wasCut }) => wasCut);
  const hit = withThoseAbove(outcome, ({ wasHit }) => mayBeHit && wasHit);
  const isHit = (title: string): boolean => {
    const { parent = null } = undisturbed.delegations.get(title) ?? {};
    return hit.has(title) || (parent !== null && isHit(parent));
  };
  if (outcome.run !== undisturbed.run && hit.size === 0) found.push(`The run ${outcome.run}.`);
  for (const title of new Set([...undisturbed.delegations.keys(), ...outcome.delegations.keys()])) {
    if (isHit(title)) continue;
    const mine = outcome.delegations.get(title);
    const theirs = undisturbed.delegations.get(title);
    if (mine === undefined || theirs === undefined) {
      found.push(`${title} exists in ${mine ? "this" : "the undisturbed"} run only.`);
    } else if (mine.status !== theirs.status || mine.reason !== theirs.reason) {
      found.push(`${title} ${mine.status} (${mine.reason}: ${mine.text}), not ${theirs.status}.`);
    } else if (mine.text !== theirs.text && !excused.has(title)) {
      found.push(`${title} says ${JSON.stringify(mine.text)}, not ${JSON.stringify(theirs.text)}.`);
    }
  }
  for (const [path, content] of undisturbed.files) {
    // The root writes down what its children said.
    const isExcused = path === "out/summary.md" && excused.size > 0;
    if (outcome.files.get(path) !== content && !isExcused && hit.size === 0) {
      found.push(`${path} has another content than in the undisturbed run.`);
    }
  }
  return found;
}

function withThoseAbove(
  { delegations }: Outcome,
  isMeant: (one: DelegationOutcome) => boolean,
): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [title, one] of delegations) {
    if (!isMeant(one)) continue;
    for (let above: string | null = title; above !== null; ) {
      found.add(above);
      above = delegations.get(above)?.parent ?? null;
    }
  }
  return found;
}
