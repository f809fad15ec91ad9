import { MandateError } from "../../ports/mandate-error.ts";
import type { Branches } from "../distributed/branches.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRuns } from "./live-runs.ts";

interface AtWork {
  readonly parts: Pick<EngineParts, "store">;
  readonly runs: LiveRuns;
  readonly branches: Branches;
}

/** Whom this process works on by that id; of a run: its root. */
export async function agentAtWork(
  { branches, parts, runs }: AtWork,
  id: string,
): Promise<LiveDelegation> {
  const run = runs.get((await parts.store.findRun(id)) ?? id);
  // Of a run that is spread, each branch is at work on one of its agents, and on who watches that.
  const inBranch = branches.all
    .flatMap(({ run: one }) => (id === one.id ? one.root : one.agents.get(id)) ?? [])
    .find((one) => !one.run.execution.isRemote(one));
  const agent = inBranch ?? run?.agents.get(id) ?? run?.root;
  if (agent && !agent.process.end.isEnding) return agent;
  throw nobodyAtWork(id);
}

export function nobodyAtWork(id: string): MandateError {
  return new MandateError("unknown-run", `Nothing that works here is called ${id}.`);
}
