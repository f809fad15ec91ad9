import type { CallToolResult } from "@modelcontextprotocol/server";
import { storeSeenBy } from "../../../control/access/store-seen-by.ts";
import { holdsRole, type Principal } from "../../../control/records/principal.ts";
import type { Delegation } from "../../../events/delegation.ts";
import type { RunState } from "../../../events/run-state.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import type { Store } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import { resultOf } from "../../../sessions/delegation-result.ts";
import { formFor, type OpenQuestion, openQuestions, readReply } from "../calls/open-question.ts";
import { interruptionOf } from "../earlier-work.ts";
import type { DurableTasks, InputRequests, TaskState } from "./task.ts";

interface Found {
  readonly run: RunState;
  readonly delegation: Delegation;
}

/** The id contains the tool's name, for people. */
const pattern = /^[a-z_]{1,64}\.(?<id>[0-9a-f]{6,8})$/;
const pollIntervalMs = 1000;

/** Tasks that are read from the log, also those of a process that has ended. */
export function delegationTasks({
  store,
  engine,
  clock,
}: Pick<Runtime, "store" | "engine" | "clock">): DurableTasks {
  async function find(principal: Principal, taskId: string): Promise<Found | undefined> {
    const { id = "" } = pattern.exec(taskId)?.groups ?? {};
    const seen = storeSeenBy(store, principal);
    const runId = id === "" ? undefined : await seen.findRun(id);
    const run = runId === undefined ? undefined : await seen.readRun(runId);
    const delegation = run?.delegations.get(id);
    return run === undefined || delegation === undefined ? undefined : { run, delegation };
  }

  async function stateOf(found: Found): Promise<TaskState> {
    const { delegation, run } = found;
    const result = resultOf(run, delegation.id);
    if (result?.status === "cancelled") return { status: "cancelled" };
    if (result) {
      return { status: "completed", result: await recordedAnswer(store, delegation, result) };
    }
    // Nothing happens until a person resumes the run.
    const message = await interruptionOf(store, delegation.id, run);
    if (message !== undefined) {
      return { status: "failed", error: { code: interruptedCode, message } };
    }
    const inputRequests = requestsOf(found, clock.now());
    if (Object.keys(inputRequests).length === 0) return { status: "working" };
    return { status: "input_required", inputRequests };
  }

  return {
    idOf: (tool, delegationId) => `${tool}.${delegationId}`,
    async read(owner, taskId) {
      const found = await find(owner, taskId);
      if (found === undefined) return undefined;
      const { createdAt } = found.delegation;
      const lastUpdatedAt = lastChangeOf(found.delegation);
      const state = await stateOf(found);
      return { taskId, createdAt, lastUpdatedAt, ttlMs: null, pollIntervalMs, state };
    },
    async questions(owner, taskId) {
      const found = await find(owner, taskId);
      return found === undefined ? {} : requestsOf(found, clock.now());
    },
    async answer(owner, taskId, key, response) {
      const found = await find(owner, taskId);
      const question = found && questionsOf(found).find(({ id }) => id === key);
      const text = question && readReply(question, response);
      if (text !== undefined && holdsRole("operator", owner)) await engine.answer(key, text);
    },
    async cancel(owner, taskId) {
      const found = await find(owner, taskId);
      if (found && holdsRole("operator", owner))
        await engine.cancel(found.delegation.id, { code: "call_withdrawn" });
    },
  };
}

/** JSON-RPC's code for an internal error: the server lost the call, the request was valid. */
const interruptedCode = -32_603;

function requestsOf(found: Found, now: number): InputRequests {
  const asked = questionsOf(found).map((question) => {
    return [question.id, { method: "elicitation/create", params: formFor(question, now) }] as const;
  });
  return Object.fromEntries(asked);
}

function questionsOf({ run, delegation }: Found): readonly OpenQuestion[] {
  return openQuestions(run).filter(({ line }) => line.includes(delegation.id));
}

function lastChangeOf(delegation: Delegation): number {
  if (delegation.status === "closed") return delegation.closedAt;
  return delegation.status === "running" ? delegation.lastEventAt : delegation.createdAt;
}

/**
 * The recorded reply of the call that made a delegation; the transaction that closes the delegation
 * writes it. Without a record, the result itself.
 */
async function recordedAnswer(
  store: Pick<Store, "readEvents">,
  { callId, parentId }: Delegation,
  result: DelegationResult,
): Promise<CallToolResult> {
  if (callId !== null && parentId !== null) {
    for await (const { type, payload } of store.readEvents({ delegationId: parentId })) {
      if (type === "agent.tool_completed" && payload.call_id === callId) {
        return describeText(payload.output, result);
      }
    }
  }
  return describeText(JSON.stringify(result), result);
}

/** Some tools reply in JSON, others in text. */
function describeText(text: string, { delegationId, status }: DelegationResult): CallToolResult {
  const structuredContent = objectIn(text) ?? { delegationId, status, text };
  const content: CallToolResult["content"] = [{ type: "text", text }];
  return { content, structuredContent, ...(status !== "completed" && { isError: true }) };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
