import type { InboxItem } from "../../events/inbox-item.ts";
import { runIdOf, runNumberOf } from "../../ports/identity.ts";

/** In the order of the columns. */
export function inboxValuesOf(item: InboxItem): readonly (string | number | null)[] {
  return [
    item.id,
    runNumberOf(item.runId) ?? 0,
    item.delegationId ?? null,
    item.at,
    item.kind,
    item.severity,
    item.title,
    item.text,
    item.ask?.id ?? null,
    item.ask?.deadlineAt ?? null,
    item.ask?.default ?? null,
    item.isOpen === undefined ? null : Number(item.isOpen),
  ];
}

export function inboxItemOfRow(row: Readonly<Record<string, unknown>>): InboxItem {
  const delegationId = row["sub_agent_id"];
  const askId = row["ask_id"];
  const fallback = row["ask_default"];
  return {
    id: Number(row["seq"]),
    at: Number(row["at"]),
    runId: runIdOf(Number(row["run"])),
    ...(delegationId !== null && { delegationId: String(delegationId) }),
    kind: String(row["kind"]) as InboxItem["kind"],
    severity: String(row["severity"]) as InboxItem["severity"],
    title: String(row["title"]),
    text: String(row["text"]),
    ...(row["is_open"] !== null && { isOpen: row["is_open"] === 1 }),
    ...(askId !== null && {
      ask: {
        id: String(askId),
        deadlineAt: Number(row["deadline_at"]),
        default: fallback === null ? null : String(fallback),
      },
    }),
  };
}
