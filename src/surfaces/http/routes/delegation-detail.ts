import { z } from "zod";
import { type PublicContract, publicContract } from "../../../application/public-contract.ts";
import type { Contract } from "../../../contracts/contract.ts";
import type { ReceiptLine } from "../../../contracts/receipt.ts";
import { openAskOf } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isRunInterrupted } from "../../../events/is-worked-on.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { earlyAnswerOf, resultOf } from "../../../sessions/delegation-result.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import {
  artifactReference,
  delegationResult,
  delegationRow,
  describeDelegation,
  earlyAnswer,
  seal,
  tokenUsage,
} from "./describe-delegation.ts";
import { withoutChildren } from "./describe-run.ts";
import { listOf, moment, plainData } from "./shared-schemas.ts";

const keptArtifact = artifactReference.extend({
  of: z.enum(["result", "call", "diff"]),
  callId: z.string().nullable(),
  tool: z.string().nullable(),
});

export const delegationDetail = delegationRow.extend({
  task: z.string().nullable(),
  context: z.string().nullable(),
  usage: tokenUsage,
  contractHash: z.string(),
  /** Null when the stored contract is invalid; `problem` says why. */
  contract: plainData<PublicContract | null>(
    "The stored contract; MCP servers are described without their values.",
  ),
  problem: z.string().nullable(),
  receipt: listOf(plainData<ReceiptLine>("{ field, requested, granted, dropped?, reason? }")),
  ask: z
    .object({
      id: z.string(),
      question: z.string(),
      isApproval: z.boolean(),
      deadlineAt: moment,
      default: z.string().nullable(),
    })
    .nullable(),
  unread: listOf(
    z.object({ messageId: z.string(), from: z.enum(["caller", "person"]), message: z.string() }),
  ).meta({ description: "Messages that it has not read yet." }),
  evidence: seal.nullable(),
  answer: earlyAnswer.nullable().meta({
    description: "Its final answer while background sub-agents keep it open; null otherwise.",
  }),
  result: delegationResult.nullable(),
  artifacts: listOf(keptArtifact),
  resumedFrom: z.string().nullable(),
});

type KeptArtifact = z.infer<typeof keptArtifact>;

const mostArtifacts = 500;

/** Everything about one delegation except its messages: contract, receipt, evidence and result. */
export async function detailOf(
  store: Store,
  id: string,
  now: number,
): Promise<z.infer<typeof delegationDetail>> {
  const run = await readRunOf(store, id);
  const delegation = run.delegations.get(id);
  if (delegation === undefined) throw unknown(id);
  const { artifacts, receipt, served } = await readLog(store, id);
  const { contract, problem } = await readContract(store, id);
  const about = { isInterrupted: await isRunInterrupted(store, run), now, served };
  const ask = openAskOf(delegation);
  const result = resultOf(run, id);
  return {
    ...(await describeDelegation(store, run, delegation, about)),
    task: contract?.step.description ?? null,
    context: contract?.step.context ?? null,
    usage: delegation.usage,
    contractHash: delegation.contractHash,
    contract: contract && publicContract(contract),
    problem,
    receipt,
    ask: ask && {
      id: ask.id,
      question: ask.question,
      isApproval: ask.kind === "approval",
      deadlineAt: ask.deadlineAt,
      default: ask.default,
    },
    unread: (delegation.mail ?? []).map(({ from, message, message_id: messageId }) => ({
      ...{ messageId, from, message },
    })),
    evidence: delegation.status === "closed" ? delegation.seal : null,
    answer: earlyAnswerOf(run, id),
    result: result && withoutChildren(result),
    artifacts,
    resumedFrom: delegation.resumedFrom,
  };
}

async function readContract(
  store: Store,
  id: string,
): Promise<{ readonly contract: Contract | null; readonly problem: string | null }> {
  try {
    return { contract: await store.readContract(id), problem: null };
  } catch (error) {
    if (!(error instanceof MandateError) || error.code !== "contract-invalid") throw error;
    return { contract: null, problem: error.message };
  }
}

interface LogFacts {
  readonly receipt: readonly ReceiptLine[];
  readonly artifacts: readonly KeptArtifact[];
  readonly served: ReadonlyMap<string, readonly string[]>;
}

async function readLog(store: Store, id: string): Promise<LogFacts> {
  let receipt: readonly ReceiptLine[] = [];
  const artifacts: KeptArtifact[] = [];
  const models = new Set<string>();
  for await (const event of store.readEvents({ delegationId: id })) {
    if (event.type === "agent.subagent_created") receipt = event.payload.receipt ?? [];
    if (event.type === "agent.model_turn" && event.payload.served) models.add(event.payload.served);
    const artifact = artifactOf(event);
    if (artifact !== undefined && artifacts.length < mostArtifacts) artifacts.push(artifact);
  }
  return { receipt, artifacts, served: new Map([[id, [...models]]]) };
}

function artifactOf(event: StoredEvent): KeptArtifact | undefined {
  if (event.type === "agent.tool_completed" && event.payload.artifact) {
    const { artifact, call_id: callId, tool } = event.payload;
    return { ...artifact, of: "call", callId, tool };
  }
  const nobodys = { callId: null, tool: null };
  if (event.type === "agent.subagent_waiting_for_merge" && event.payload.artifact) {
    return { ...event.payload.artifact, of: "result", ...nobodys };
  }
  if (event.type === "agent.worktree_merged" && event.payload.diff) {
    return { ...event.payload.diff, of: "diff", ...nobodys };
  }
  return undefined;
}

/** Reads an artifact, if the delegation's own log names its hash. */
export async function readNamedArtifact(store: Store, id: string, hash: string): Promise<string> {
  await readRunOf(store, id);
  for await (const event of store.readEvents({ delegationId: id })) {
    if (artifactOf(event)?.hash !== hash) continue;
    const text = await store.readArtifact(hash);
    if (text !== undefined) return text;
    break;
  }
  throw new MandateError(
    "unknown-delegation",
    `Delegation ${id} has no artifact ${hash}. Its "artifacts" lists them.`,
  );
}

function unknown(id: string): MandateError {
  return new MandateError("unknown-delegation", `There is no delegation ${id}.`);
}
