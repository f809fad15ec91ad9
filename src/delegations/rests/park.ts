import { beginWork } from "../begin-work.ts";
import type { Suspended } from "../ends/ending.ts";
import { endTime, event, type LiveDelegation, outputOf } from "../live-delegation.ts";
import { hasServers } from "../turns/open-servers.ts";
import { settledIfOpen } from "../turns/settle-request.ts";

/**
 * Brings an agent to rest whose work has been left: from here on it is as after a crash, but that
 * it holds nothing back. A request that was under way is settled as an estimate. Calls that were cut
 * stay open, and are looked at when it goes on.
 */
export async function park(agent: LiveDelegation, suspension: Suspended): Promise<void> {
  const rests = suspension.closesAs === null;
  // One whose work is handed in waits for its turn, as it did before.
  if (rests && outputOf(agent) === null) beginWork(agent);
  agent.record(...settledIfOpen(agent));
  if (rests && outputOf(agent) === null) {
    agent.record(event(agent, "agent.paused", { reason: "interrupt" }));
  }
  suspension.isAtRest = true;
  endTime(agent);
  if (agent.process.holdsProcesses || hasServers(agent)) {
    await agent.run.parts.release(agent.id).catch(() => undefined);
  }
  await agent.process.appends.durable();
  agent.run.changed.notify();
}
