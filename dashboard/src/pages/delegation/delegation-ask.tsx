import { shownName } from "../../../../src/events/delegation.ts";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { AskCard } from "../inbox/ask-card.tsx";
import type { DelegationDetail } from "./delegation-detail.ts";

interface DelegationAskProps {
  readonly detail: DelegationDetail;
  readonly mayAnswer: boolean;
}

/** Shows the question of a delegation with the card of the inbox. */
export function DelegationAsk({ detail, mayAnswer }: DelegationAskProps) {
  const { ask, delegationId, runId } = detail;
  const name = shownName(detail);
  if (ask === null) return null;
  const { deadlineAt, default: usual, id, isApproval, question } = ask;
  return (
    <div className="shrink-0 border-b border-line px-4 py-3">
      <AskCard
        key={id}
        mayAnswer={mayAnswer}
        hasKeys
        item={{
          ...{ id: 0, at: detail.createdAt, runId, delegationId, severity: "warn", isOpen: true },
          kind: isApproval ? "approval" : "ask",
          title: isApproval ? `${name} needs an approval` : `${name} asks`,
          text: harmlessLine(question, 300),
          ask: { id, deadlineAt, default: usual },
        }}
      />
    </div>
  );
}
