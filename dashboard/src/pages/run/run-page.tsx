import { lazy, Suspense, useState } from "react";
import { Duration, Money, Time, TokensBar } from "../../components/amounts.tsx";
import { Id } from "../../components/id.tsx";
import { Problem } from "../../components/problem.tsx";
import { StateBadge, shownRunState } from "../../components/state-badge.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { type RunFeed, useRunFeed } from "../../data/run-feed.ts";
import { useQueryWord } from "../../router/router.ts";
import { RunSlider } from "./replay/run-slider.tsx";
import { useReplay } from "./replay/use-replay.ts";
import { RunActions } from "./run-actions.tsx";
import { RunResult } from "./run-result.tsx";
import { RunTree } from "./run-tree.tsx";
import { Timeline } from "./timeline.tsx";

const RunGantt = lazy(async () => {
  const { RunGantt: chart } = await import("./gantt/run-gantt.tsx");
  return { default: chart };
});

export function RunPage({ runId }: { readonly runId: string }) {
  const feed = useRunFeed(runId);
  const [view, setView] = useQueryWord("view", "tree");
  const [chosen, setChosen] = useState<string | null>(null);
  const { moment, position, setPosition, view: shown } = useReplay(feed);
  const isNarrow = useMedia(narrow);
  const isWide = useMedia("(min-width: 1280px)");
  if (feed.error !== undefined && feed.events.length === 0) return <Problem error={feed.error} />;
  if (feed.events.length === 0) return <p className="px-4 py-6 text-soft">Reading {runId}…</p>;
  const state = stateOf(feed);
  const tree = () => (
    <RunTree
      feed={shown}
      at={moment?.at ?? null}
      isInterrupted={moment === null && state === "interrupted"}
      isNarrow={isNarrow}
      chosen={chosen}
      onChoose={setChosen}
    />
  );
  const gantt = () => (
    <Suspense fallback={null}>
      <RunGantt
        feed={feed}
        moment={moment}
        isOpen={state === "running"}
        isNarrow={isNarrow}
        chosen={chosen}
        onChoose={setChosen}
      />
    </Suspense>
  );
  const timeline = () => <Timeline feed={shown} chosen={chosen} onChoose={setChosen} />;
  return (
    <>
      <RunHead feed={feed} state={state} />
      {feed.error !== undefined && <Problem error={feed.error} />}
      <div className="flex min-h-0 flex-1">
        <Tabs
          label="Views of the run"
          chosen={view}
          onChoose={setView}
          tabs={[
            { id: "tree", label: `Tree (${shown.state.delegations.size})`, content: tree },
            { id: "gantt", label: "Gantt", content: gantt },
            ...(isWide ? [] : [{ id: "timeline", label: "Timeline", content: timeline }]),
          ]}
        />
        {isWide && (
          <section
            aria-label="Timeline"
            className="flex min-h-0 w-[38%] min-w-0 shrink-0 flex-col border-l border-line"
          >
            <h2 className="border-b border-line px-4 py-2 leading-[21px] font-medium">Timeline</h2>
            {timeline()}
          </section>
        )}
      </div>
      <RunSlider events={feed.events} position={position} onPosition={setPosition} />
    </>
  );
}

export type RunPageState = "running" | "interrupted" | "succeeded" | "failed";

/** Whether somebody works on it is nothing that events tell. */
function stateOf({ detail, state }: RunFeed): RunPageState {
  if (state.outcome !== null) return state.outcome;
  return detail?.state === "interrupted" ? "interrupted" : "running";
}

function RunHead({ feed, state }: { readonly feed: RunFeed; readonly state: RunPageState }) {
  const [isWhole, setWhole] = useState(false);
  const { budgetTokens, delegations, finishedAt, id, startedAt, task, workspace } = feed.state;
  let tokens = 0;
  let cost = 0;
  for (const { usage } of delegations.values()) {
    tokens += usage.prompt + usage.completion;
    cost += usage.cost;
  }
  return (
    <header className="shrink-0 border-b border-line px-4 py-3">
      <div className="flex items-start gap-3">
        <h1 className="min-w-0 flex-1 text-[15px] leading-6 font-semibold wrap-anywhere">
          <Text most={200}>{task}</Text>
          {(task.length > 200 || task.includes("\n")) && (
            <button
              type="button"
              className="ml-2 text-xs font-normal text-accent hover:underline"
              aria-expanded={isWhole}
              onClick={() => setWhole(!isWhole)}
            >
              {isWhole ? "Less" : "Whole task"}
            </button>
          )}
        </h1>
        <RunActions runId={id} state={state} onDone={() => feed.askDetail(0)} />
      </div>
      {isWhole && <LongText className="my-2">{task}</LongText>}
      <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 text-soft">
        <StateBadge state={shownRunState(state)} />
        <Id id={id} />
        <TokensBar used={tokens} of={budgetTokens} />
        <Money dollars={cost} />
        {state !== "interrupted" && <Duration from={startedAt} to={finishedAt} />}
        <span>
          started <Time at={startedAt} />
        </span>
        {workspace !== null && (
          <Text className="min-w-0 truncate font-mono text-xs">{workspace}</Text>
        )}
      </div>
      <RunResult feed={feed} />
    </header>
  );
}
