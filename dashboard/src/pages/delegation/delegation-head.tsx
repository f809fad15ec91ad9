import type { ReactNode } from "react";
import { type Delegation, shownName } from "../../../../src/events/delegation.ts";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Duration, Money, Time, TokensBar } from "../../components/amounts.tsx";
import { Id } from "../../components/id.tsx";
import { StateBadge, shownState } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import type { DelegationDetail } from "./delegation-detail.ts";
import { describeState } from "./describe-state.ts";

interface DelegationHeadProps {
  readonly detail: DelegationDetail;
  /** The delegation as its events tell it, which is newer than the reply of the server. */
  readonly delegation: Delegation | undefined;
  readonly actions: ReactNode;
}

export function DelegationHead({ detail, delegation, actions }: DelegationHeadProps) {
  const { cap, closedAt, createdAt, isInterrupted, model, parentId, runId, title } = detail;
  const usage = delegation?.usage ?? detail.usage;
  const endedAt = delegation?.status === "closed" ? delegation.closedAt : closedAt;
  const others = model.served.filter((name) => model.requested?.endsWith(name) !== true);
  const attempt = delegation?.attempt ?? detail.attempt;
  return (
    <header className="shrink-0 border-b border-line px-4 py-3">
      <nav
        aria-label="Run and parent"
        className="flex flex-wrap items-center gap-x-1.5 text-xs text-soft"
      >
        <Link to={`/runs/${runId}`} className="text-accent hover:underline">
          Run {runId}
        </Link>
        {parentId !== null && (
          <>
            <span aria-hidden="true">/</span>
            <Link to={`/delegations/${parentId}`} className="text-accent hover:underline">
              Parent {parentId}
            </Link>
          </>
        )}
        {detail.resumedFrom !== null && (
          <>
            <span aria-hidden="true">·</span>
            <Link to={`/delegations/${detail.resumedFrom}`} className="text-accent hover:underline">
              continues {detail.resumedFrom}
            </Link>
          </>
        )}
      </nav>
      <div className="mt-0.5 flex items-start gap-3 max-sm:flex-col max-sm:gap-2">
        <h1 className="min-w-0 flex-1 text-[15px] leading-6 font-semibold wrap-anywhere">
          <Text most={60}>{shownName(detail)}</Text>{" "}
          <Text className="font-normal text-soft" most={200}>
            {title}
          </Text>
        </h1>
        {actions}
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 text-soft max-sm:mt-2">
        {delegation && (
          <StateBadge
            state={shownState(delegation, isInterrupted)}
            word={harmlessLine(describeState(delegation, isInterrupted), 100)}
          />
        )}
        <Id id={detail.delegationId} />
        <span className="min-w-0 truncate" title="Model: requested → served">
          <Text>{model.requested ?? "no model"}</Text>
          {others.length > 0 && <Text className="text-warn">{` → ${others.join(", ")}`}</Text>}
        </span>
        <TokensBar
          used={usage.prompt + usage.completion}
          of={cap?.tokens ?? null}
          estimated={usage.estimated}
          unmetered={detail.unmetered}
        />
        <Money dollars={usage.cost} estimated={usage.estimated} unmetered={detail.unmetered} />
        {detail.unmetered && (
          <span className="text-warn" title="It works with a login of its own.">
            tokens and dollars not enforced
          </span>
        )}
        {(!isInterrupted || endedAt !== null) && <Duration from={createdAt} to={endedAt} />}
        {attempt > 1 && <span>attempt {attempt}</span>}
        <span>
          created <Time at={createdAt} />
        </span>
      </div>
    </header>
  );
}
