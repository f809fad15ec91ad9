import { isOpen } from "../../src/events/delegation.ts";
import type { Store } from "../../src/ports/store.ts";
import type { OpenDelegation } from "./messages.ts";

const waitingTools: ReadonlySet<string> = new Set(["delegate_task", "spawn_await", "ask_user"]);

/** What a new process finds before it touches anything. */
export async function openDelegations(store: Store): Promise<OpenDelegation[]> {
  const found: OpenDelegation[] = [];
  for (const row of await store.listRuns({ open: true })) {
    const run = await store.readRun(row.id);
    const calls = await openCalls(store, row.id);
    for (const delegation of run?.delegations.values() ?? []) {
      if (!isOpen(delegation)) continue;
      const tools = [...(calls.get(delegation.id)?.values() ?? [])];
      found.push({
        id: delegation.id,
        status: delegation.status,
        resumptions: delegation.status === "running" ? delegation.resumptions : 0,
        waits: tools.length > 0 && tools.every((tool) => waitingTools.has(tool)),
      });
    }
  }
  return found;
}

/** By delegation, and by call: the tools that have begun and not ended. */
async function openCalls(store: Store, runId: string): Promise<Map<string, Map<string, string>>> {
  const open = new Map<string, Map<string, string>>();
  for await (const { type, payload, sub_agent_id: id = "" } of store.readEvents({ runId })) {
    const calls = open.get(id) ?? new Map<string, string>();
    open.set(id, calls);
    if (type === "agent.tool_started") calls.set(payload.call_id, payload.tool);
    else if ("call_id" in payload && type !== "agent.asked") calls.delete(payload.call_id ?? "");
  }
  return open;
}
