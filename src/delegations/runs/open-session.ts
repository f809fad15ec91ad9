import type { Branches } from "../distributed/branches.ts";
import type { EngineParts } from "../engine-parts.ts";
import { Session } from "../session.ts";
import { grantIn, grantTo, type RunGrant } from "../start/run-grant.ts";
import { realWorkspace, type SessionRequest } from "../start/run-request.ts";
import { startDelegation } from "../start/start-delegation.ts";
import type { LiveRuns } from "./live-runs.ts";
import { newRun, runStarted } from "./new-run.ts";
import { modeIn } from "./order-run.ts";
import { refusal } from "./refusal.ts";

interface SessionOpening {
  readonly parts: EngineParts;
  readonly grant: RunGrant;
  readonly runs: LiveRuns;
  readonly branches: Branches;
}

/** A run whose root is an agent that another program runs. */
export async function openSession(
  { branches, grant, parts, runs }: SessionOpening,
  request: SessionRequest,
): Promise<Session> {
  const { client, task = `Session of ${client}` } = request;
  const workspace = realWorkspace(request);
  const own = grantTo(grant, request.by);
  const mode = await modeIn(parts, workspace, own);
  const readOnly = request.readOnly === true || mode === "read-only";
  const held = grantIn(own, workspace, readOnly);
  const run = newRun(
    parts,
    { ...request, workspace, task, readOnly },
    {
      ...held,
      authority: { ...held.authority, tools: held.sessionTools },
      // It lasts as long as the other program holds it; its children have deadlines of their own.
      timeMs: Number.MAX_SAFE_INTEGER,
    },
    mode === "copy",
  );
  const started = await startDelegation({
    run,
    caller: null,
    request: { task },
    way: "session",
    step: run.steps++,
    client,
    callId: null,
    before: [runStarted(run)],
  });
  if (!("agent" in started)) throw refusal(started);
  const { agent: root, created } = started;
  const closed = runs.add(run, root);
  await created;
  await run.execution.hold(root, (branch) => {
    branches.add(branch);
    void closed.then(() => branches.remove(branch));
  });
  return new Session(root);
}
