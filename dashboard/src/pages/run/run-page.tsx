import { lazy, Suspense, useState } from "react";
import { Problem } from "../../components/problem.tsx";
import { ScriptedRunNotice } from "../../components/scripted-notice.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { useOpenAsks } from "../../data/open-asks.ts";
import { useRunFeed } from "../../data/run-feed.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { useQueryWord } from "../../router/router.ts";
import { RunAsks } from "../inbox/run-asks.tsx";
import { RunSlider } from "./replay/run-slider.tsx";
import { useReplay } from "./replay/use-replay.ts";
import { RunHead } from "./run-head.tsx";
import { RunOutcome } from "./run-outcome.tsx";
import { runStateOf } from "./run-state-of.ts";
import { RunTree } from "./run-tree.tsx";
import { Timeline } from "./timeline.tsx";
import { useWorkflows } from "./workflow/use-workflows.ts";
import { WorkflowTab } from "./workflow/workflow-tab.tsx";

const RunGantt = lazy(async () => {
  const { RunGantt: chart } = await import("./gantt/run-gantt.tsx");
  return { default: chart };
});

export function RunPage({ runId }: { readonly runId: string }) {
  const feed = useRunFeed(runId);
  const asks = useOpenAsks(runId);
  const [view, setView] = useQueryWord("view", "");
  const [chosen, setChosen] = useState<string | null>(null);
  const { moment, position, setPosition, view: shown } = useReplay(feed);
  const { nameOf, views: workflows } = useWorkflows(shown);
  const mayAct = isOperator(useMe());
  const isNarrow = useMedia(narrow);
  const isWide = useMedia("(min-width: 1100px)");
  const [isAlone, setAlone] = useState(false);
  if (feed.error !== undefined && feed.events.length === 0) return <Problem error={feed.error} />;
  if (feed.events.length === 0) return <h1 className="px-4 py-6 text-soft">Reading {runId}…</h1>;
  const state = runStateOf(feed);
  // While it is read, no clock runs: it may have ended long ago.
  const readUpTo = feed.isComplete ? null : (feed.events.at(-1)?.at ?? null);
  const list = {
    feed: shown,
    at: moment?.at ?? readUpTo,
    isInterrupted: moment === null && state === "interrupted",
    ...{ isNarrow, chosen, onChoose: setChosen },
  };
  const tree = () => <RunTree {...list} nameOf={nameOf} />;
  const workflow = () => (
    <WorkflowTab
      {...list}
      views={workflows}
      maySkip={mayAct && moment === null && state === "running"}
    />
  );
  const gantt = () => (
    <Suspense fallback={null}>
      <RunGantt
        feed={feed}
        moment={moment}
        isOpen={state === "running" && feed.isComplete}
        isNarrow={isNarrow}
        chosen={chosen}
        onChoose={setChosen}
        nameOf={nameOf}
      />
    </Suspense>
  );
  // A workflow has more rows than most trees, and they say more than its events.
  const isWorkflow = workflows.length > 0 && (view === "" || view === "workflow");
  const outcome = () => (
    <RunOutcome
      shown={shown}
      isNow={moment === null}
      isRunning={moment === null && state === "running"}
      nameOf={nameOf}
    />
  );
  const timeline = () => (
    <Timeline feed={shown} chosen={chosen} onChoose={setChosen} nameOf={nameOf} />
  );
  return (
    <>
      <RunHead
        feed={feed}
        shown={shown}
        moment={moment}
        onNow={() => setPosition(null)}
        workflows={workflows}
      />
      <ScriptedRunNotice feed={feed} />
      {feed.error !== undefined && <Problem error={feed.error} />}
      {moment === null && <RunAsks asks={asks} className="border-b border-line" />}
      {/* Where the head leaves no room, the page scrolls, and the slider stays in sight. */}
      <div className="flex min-h-0 flex-1 max-sm:min-h-96 max-sm:shrink-0">
        {isWide && !isAlone && (
          <div className="flex min-h-0 w-[42%] max-w-2xl min-w-0 shrink-0 flex-col border-r border-line">
            {outcome()}
          </div>
        )}
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <Tabs
            label="Views of the run"
            chosen={view === "" && !isWide && state !== "running" ? "outcome" : view}
            onChoose={setView}
            tabs={[
              ...(isWide ? [] : [{ id: "outcome", label: "Result", content: outcome }]),
              ...(workflows.length === 0
                ? []
                : [{ id: "workflow", label: "Workflow", content: workflow }]),
              { id: "tree", label: `Tree (${shown.state.delegations.size})`, content: tree },
              { id: "gantt", label: "Gantt", content: gantt },
              ...(isWide ? [] : [{ id: "timeline", label: "Timeline", content: timeline }]),
            ]}
            aside={
              isWide && (
                <button
                  type="button"
                  className="text-xs text-accent hover:underline"
                  aria-pressed={isAlone}
                  onClick={() => setAlone(!isAlone)}
                >
                  {isAlone ? "Show the result" : "Full width"}
                </button>
              )
            }
          />
          {isWide && (
            // Below the tree, over the same width: lines are long, and few trees fill a screen.
            <section
              aria-label="Timeline"
              className={`flex min-h-0 flex-col border-t border-line ${isWorkflow ? "flex-[0.6]" : "flex-1"}`}
            >
              <h2 className="sr-only">Timeline</h2>
              {timeline()}
            </section>
          )}
        </div>
      </div>
      <RunSlider events={feed.events} position={position} onPosition={setPosition} />
    </>
  );
}
