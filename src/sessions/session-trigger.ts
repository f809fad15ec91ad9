import { type Contract, clientOf } from "../contracts/contract.ts";
import type { Delegation } from "../events/delegation.ts";
import type { StoredEvent } from "../events/event.ts";

/** How a session came to be. */
export type SessionTrigger =
  /** It was given a task, or was continued. */
  | { readonly by: "person" }
  /** Another program's agent works here. */
  | { readonly by: "program"; readonly name: string }
  /** A call of its parent. */
  | { readonly by: "tool"; readonly tool: string; readonly callId: string }
  | { readonly by: "slash"; readonly word: string }
  | { readonly by: "step"; readonly step: string; readonly callId: string }
  | { readonly by: "watcher"; readonly watches: string };

/** Who speaks at its beginning: a person, or an agent that had it do something. */
export function isByPerson({ by }: SessionTrigger): boolean {
  return by === "person" || by === "program" || by === "slash";
}

type Made = Pick<Delegation, "callId" | "parentId">;

/**
 * `events` are those of the run; only the parent's calls and the plans among them matter. A call id
 * that begins with a slash is the command that a person typed (`/oracle`, or `/oracle#2`).
 */
export function triggerOf(
  { callId, parentId }: Made,
  contract: Pick<Contract, "model" | "parent" | "profile">,
  events: Iterable<StoredEvent>,
): SessionTrigger {
  const { watches } = contract.parent;
  if (watches !== undefined) return { by: "watcher", watches };
  if (callId === null) {
    const name = clientOf(contract);
    return name === undefined ? { by: "person" } : { by: "program", name };
  }
  const [, word] = /^(\/[^#/\s]+)/.exec(callId) ?? [];
  if (word !== undefined) return { by: "slash", word };
  const slash = callId.lastIndexOf("/");
  const [call, step] = slash < 0 ? [callId, ""] : [callId.slice(0, slash), callId.slice(slash + 1)];
  let tool = "";
  for (const event of events) {
    if (event.type === "run.planned" && event.payload.call_id === call) {
      if (event.payload.steps.some(({ key }) => key === step)) return { by: "step", step, callId };
    }
    if (event.type !== "agent.model_turn" || event.sub_agent_id !== parentId) continue;
    const made = event.payload.calls?.find(({ id }) => id === callId || id === call);
    if (made) tool = made.name;
  }
  return { by: "tool", tool, callId };
}
