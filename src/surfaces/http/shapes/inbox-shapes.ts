import { z } from "zod";
import { inboxKinds } from "../../../events/inbox-item.ts";
import { listOf, moment } from "./plain-data.ts";

const inboxKind = z.enum(inboxKinds);

const inboxItem = z.object({
  id: z.number(),
  at: moment,
  runId: z.string(),
  delegationId: z.string().optional(),
  kind: inboxKind,
  severity: z.enum(["info", "warn", "critical"]),
  title: z.string(),
  text: z.string(),
  isOpen: z.boolean().optional(),
  ask: z
    .object({
      id: z.string(),
      deadlineAt: moment,
      default: z.string().nullable(),
      question: z.string().optional().meta({ description: "All of it, while it is open." }),
    })
    .optional(),
});

export const inboxPage = z.object({
  items: listOf(inboxItem).meta({ description: "The latest first." }),
  nextCursor: z.string().nullable(),
  unread: z.number().meta({ description: "By you; a thousand stands for as many, or more." }),
  seen: z.number().meta({ description: "You have seen everything up to this item." }),
});

export const markReadBody = z.strictObject({ upTo: z.int().min(0) });
export const markReadReply = z.object({ seen: z.number(), unread: z.number() });
