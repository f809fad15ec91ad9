import { randomUUID } from "node:crypto";
import { externalProvider } from "../contracts/contract.ts";
import type { Carried } from "../contracts/exposure.ts";
import { describeStatus } from "../events/close-reason.ts";
import type { Delegation } from "../events/delegation.ts";
import type { MessageSender, SentMessage } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { statusOf } from "./delegation-result.ts";

/** All of a message enters the conversation of the agent that it is for. */
const longestMessage = 32_000;

export interface SentTo {
  readonly delegationId: string;
  readonly messageId: string;
}

export interface MessageToSend {
  /** Sent again under the same id, it is the same message. Absent: it is a message of its own. */
  readonly id?: string | undefined;
  readonly from: MessageSender;
  readonly text: string;
  readonly carries?: readonly Carried[] | undefined;
}

/**
 * Sends a message to a delegation that has not ended, or to the root of a run, whichever process
 * works on it. The message is in the log when this resolves, and the delegation reads it once, before
 * its next turn. Throws "already-terminal" where it takes no further turn; then nothing is written.
 */
export async function sendMessage(
  store: Pick<Store, "append" | "findRun" | "readContract" | "readEvents" | "readRun">,
  to: string,
  { carries = [], from, id, text }: MessageToSend,
): Promise<SentTo> {
  requireText(text);
  const runId = await store.findRun(to);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  const delegation = run && delegationIn(run, to);
  if (run === undefined || delegation === undefined) {
    throw new MandateError("unknown-delegation", `There is no run or delegation ${to}.`);
  }
  const messageId = id ?? `m${randomUUID()}`;
  const sentTo = { delegationId: delegation.id, messageId };
  if (id !== undefined && (await wasSent(store, delegation, id))) return sentTo;
  requireOpen(delegation);
  const { model, profile } = await store.readContract(delegation.id);
  if (model.provider === externalProvider) {
    throw new MandateError(
      "usage",
      `${delegation.id} is the agent of another program (${profile.id}), which Mandate gives no turns. Send the message to one of its sub-agents.`,
    );
  }
  const payload: SentMessage = {
    message_id: messageId,
    from,
    message: text,
    ...(carries.length > 0 && { carries }),
  };
  const sent = { type: "agent.message_sent", sub_agent_id: delegation.id, payload } as const;
  try {
    await store.append({ runId: run.id, by: "operator", events: [sent] });
  } catch (error) {
    // The delegation ended, or submitted its result, in this moment.
    if (!(error instanceof MandateError) || error.code !== "illegal-transition") throw error;
    const now = (await store.readRun(run.id))?.delegations.get(delegation.id);
    if (now !== undefined) requireOpen(now);
    throw error;
  }
  return sentTo;
}

function requireText(text: string): void {
  if (typeof text !== "string" || text.trim() === "") {
    throw new MandateError(
      "usage",
      "The message is missing: say what the agent should know or do.",
    );
  }
  if (text.length <= longestMessage) return;
  throw new MandateError(
    "usage",
    `A message has at most ${longestMessage} characters, and this one ${text.length}. Put it into a file that the agent can read, and send its path.`,
  );
}

function delegationIn({ delegations, id }: RunState, to: string): Delegation | undefined {
  const [root] = delegations.values();
  return to === id ? root : delegations.get(to);
}

/** Read from the log: what was delivered is in no mail any more. */
async function wasSent(
  store: Pick<Store, "readEvents">,
  { id: delegationId, mail = [] }: Delegation,
  id: string,
): Promise<boolean> {
  if (mail.some((one) => one.message_id === id)) return true;
  const types = ["agent.message_sent"] as const;
  for await (const { payload, type } of store.readEvents({ delegationId, types })) {
    if (type === "agent.message_sent" && payload.message_id === id) return true;
  }
  return false;
}

function requireOpen(delegation: Delegation): void {
  const { id, status } = delegation;
  if (status === "created" || status === "running") return;
  const end =
    status === "closed"
      ? `has ended: ${describeStatus(statusOf(delegation.finalStatus, delegation.closeReason), delegation.closeReason)}`
      : "has handed in its output";
  throw new MandateError("already-terminal", `${id} ${end}. It reads no more messages.`);
}
