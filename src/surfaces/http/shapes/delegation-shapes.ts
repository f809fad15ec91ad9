import { z } from "zod";
import type { PublicContract } from "../../../application/public-contract.ts";
import type { ReceiptLine } from "../../../contracts/receipt.ts";
import type { WaitingOn } from "../../../events/delegation.ts";
import { listOf, moment, plainData } from "./plain-data.ts";
import {
  artifactReference,
  client,
  closeReason,
  delegationResult,
  earlyAnswer,
  estimated,
  resultStatus,
  seal,
  tokenUsage,
} from "./result-shapes.ts";

/** One delegation in a list or a tree. */
export const delegationRow = z.object({
  delegationId: z.string(),
  runId: z.string(),
  parentId: z.string().nullable(),
  profile: z.string(),
  client,
  title: z.string(),
  status: z.enum(["created", "running", "waiting_for_merge", "completed", "failed", "closed"]),
  /** How it ended; null while it is open. */
  outcome: resultStatus.nullable(),
  closeReason: closeReason.nullable(),
  /** Exactly one thing while it is open and worked on, otherwise null. */
  waitingOn: plainData<WaitingOn | null>(
    "{ on, detail? }: what it waits on; null when it has ended.",
  ),
  isWatching: z.boolean(),
  /** It has not ended, and nobody works on it. */
  isInterrupted: z.boolean(),
  depth: z.number(),
  attempt: z.number(),
  model: z.object({
    requested: z.string().nullable().meta({ description: "What its contract asks for." }),
    served: listOf(z.string()).meta({ description: "Those that answered, as far as known." }),
  }),
  tokens: z.number(),
  cost: z.number(),
  estimated,
  cap: z
    .object({ tokens: z.number(), cost: z.number().nullable(), timeMs: z.number() })
    .nullable()
    .meta({ description: "What its contract lets it and everybody below it spend." }),
  turns: z.number(),
  toolCalls: z.number(),
  createdAt: moment,
  startedAt: moment.nullable(),
  closedAt: moment.nullable(),
  elapsedMs: z.number(),
});

export const keptArtifact = artifactReference.extend({
  of: z.enum(["result", "call", "diff"]),
  callId: z.string().nullable(),
  tool: z.string().nullable(),
});

export const delegationDetail = delegationRow.extend({
  task: z.string().nullable(),
  context: z.string().nullable(),
  usage: tokenUsage,
  contractHash: z.string(),
  /** Null where it cannot be trusted: then `problem` says why. */
  contract: plainData<PublicContract | null>(
    "The contract as it was agreed; of MCP servers a description without values.",
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
  ).meta({ description: "Messages that were sent to it and that it has not read." }),
  evidence: seal.nullable(),
  answer: earlyAnswer.nullable().meta({
    description: "Its final answer while background sub-agents keep it open; null otherwise.",
  }),
  result: delegationResult.nullable(),
  artifacts: listOf(keptArtifact),
  resumedFrom: z.string().nullable(),
});

export const cancelBody = z.strictObject({ reason: z.string().min(1).max(500).optional() });
export const cancelReply = z.object({
  id: z.string(),
  outcome: z.enum(["cancelled", "already_terminal"]),
});

export const answerText = z.string().min(1).max(100_000);
export const answerReply = z.object({ askId: z.string(), accepted: z.literal(true) });

export const sendBody = z.strictObject({ message: z.string().min(1).max(100_000) });
export const sendReply = z.object({ delegationId: z.string(), messageId: z.string() });

export const textPiece = z.object({
  hash: z.string(),
  characters: z.number(),
  lines: z.number(),
  text: z.string(),
  isCut: z.boolean(),
});
