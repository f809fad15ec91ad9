import { useState } from "react";
import { openAskOf } from "../../../../src/events/delegation.ts";
import { spentIn } from "../../../../src/events/spent.ts";
import type { WorkflowView } from "../../../../src/sessions/workflow-view.ts";
import { Duration, Money, Time, TokensBar } from "../../components/amounts.tsx";
import { Id } from "../../components/id.tsx";
import { StateBadge, shownRunState } from "../../components/state-badge.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { useRunChanges } from "../../data/run-changes.ts";
import type { RunFeed } from "../../data/run-feed.ts";
import type { Moment } from "./gantt/gantt-from.ts";
import { ReplayNotice } from "./replay/replay-notice.tsx";
import type { RunView } from "./replay/use-replay.ts";
import { RunActions } from "./run-actions.tsx";
import { closeReasonIn, runStateOf } from "./run-state-of.ts";
import { hasFailed } from "./workflow/workflow-rows.ts";

interface RunHeadProps {
  /** As it is now: that is what can be acted upon. */
  readonly feed: RunFeed;
  /** The run as it is shown at the chosen moment. */
  readonly shown: RunView;
  /** Null: now. */
  readonly moment: Moment | null;
  readonly onNow: () => void;
  readonly workflows: readonly WorkflowView[];
}

const longestTask = 200;

export function RunHead({ feed, shown, moment, onNow, workflows }: RunHeadProps) {
  const [isWhole, setWhole] = useState(false);
  const { task } = feed.state;
  return (
    <header className="shrink-0 border-b border-line px-4 py-3">
      <div className="flex items-start gap-3">
        <h1 className="min-w-0 flex-1 text-[15px] leading-6 font-semibold wrap-anywhere">
          <span className={isWhole ? "sr-only" : "max-sm:line-clamp-3"}>
            <Text most={longestTask}>{task}</Text>
          </span>
          {(task.length > longestTask || task.includes("\n")) && (
            <button
              type="button"
              className="text-xs font-normal sm:ml-2 text-accent hover:underline"
              aria-expanded={isWhole}
              onClick={() => setWhole(!isWhole)}
            >
              {isWhole ? "Less" : "Whole task"}
            </button>
          )}
        </h1>
        {isKnown(feed) && (
          <RunActions
            feed={feed}
            state={runStateOf(feed)}
            hasFailedCalls={workflows.some(
              ({ calls, delegationId }) =>
                feed.state.delegations.get(delegationId)?.parentId === null && hasFailed(calls),
            )}
            onDone={() => feed.askDetail(0)}
          />
        )}
      </div>
      {isWhole && <LongText className="my-2">{task}</LongText>}
      {moment !== null && (
        <ReplayNotice startedAt={feed.state.startedAt} moment={moment} of={feed} onNow={onNow} />
      )}
      <RunFigures shown={shown} at={moment?.at ?? null} />
    </header>
  );
}

/** What it came to: by now, or by the moment that is shown. */
function RunFigures({ shown, at }: { readonly shown: RunView; readonly at: number | null }) {
  const { delegations, finishedAt, id, startedAt, workspace } = shown.state;
  // The log does not say when a run had no worker.
  const state = at === null ? runStateOf(shown) : (shown.state.outcome ?? "running");
  const { cost, estimated, tokens } = spentIn(shown.state);
  let isAsking = false;
  let failed = 0;
  for (const delegation of delegations.values()) {
    isAsking ||= openAskOf(delegation) !== null;
    // The state says how the root ended.
    const isSubAgent = delegation.parentId !== null;
    if (isSubAgent && delegation.status === "closed" && delegation.finalStatus === "failed")
      failed += 1;
  }
  const kept = useRunChanges(id).data?.kept.length ?? 0;
  return (
    <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 text-soft">
      {isKnown(shown) ? (
        <StateBadge
          state={shownRunState({ state, closeReason: closeReasonIn(shown.state) }, isAsking)}
        />
      ) : (
        <span>Reading…</span>
      )}
      {at === null && state === "running" && (
        <BudgetHint shown={shown} tokens={tokens} cost={cost} />
      )}
      {failed > 0 && <span className="text-bad">{failed} not completed</span>}
      {at === null && kept > 0 && <span className="text-warn">{kept} with kept changes</span>}
      <Id id={id} />
      <TokensBar used={tokens} of={budgetOf(shown)} estimated={estimated} />
      <Money dollars={cost} estimated={estimated} />
      {state !== "interrupted" && isKnown(shown) && (
        <Duration from={startedAt} to={finishedAt ?? at} />
      )}
      <span>
        started <Time at={startedAt} />
      </span>
      {workspace !== null && (
        <Text className="min-w-0 truncate font-mono text-xs">{workspace}</Text>
      )}
    </div>
  );
}

const nearlyUsed = 0.8;

interface BudgetHintProps {
  readonly shown: RunView;
  readonly tokens: number;
  readonly cost: number;
}

/** An open run that nears its budget: what can be done about it. */
function BudgetHint({ shown, tokens, cost }: BudgetHintProps) {
  const dollars = rootOf(shown)?.cap?.cost ?? null;
  const share = Math.max(tokens / budgetOf(shown), dollars === null ? 0 : cost / dollars);
  if (!(share >= nearlyUsed)) return null;
  return (
    <span
      className="text-warn"
      title="A budget does not grow while a run works. When the run has ended or was stopped, Resume continues it with a larger one."
    >
      {Math.floor(Math.min(share, 1) * 100)} % of its budget used. Resume gives more after its end.
    </span>
  );
}

/** The root's contract is the budget of the whole tree; the run's own may only be larger. */
function budgetOf(shown: RunView): number {
  const { budgetTokens } = shown.state;
  return Math.min(rootOf(shown)?.cap?.tokens ?? budgetTokens, budgetTokens);
}

function rootOf({ detail }: RunView) {
  return detail?.tree.find(({ delegationId }) => delegationId === detail.rootId);
}

/** While it is being read, its last event is not the last one: it only looks as if it still ran. */
function isKnown({ isComplete, state }: RunView): boolean {
  return isComplete || state.outcome !== null;
}
