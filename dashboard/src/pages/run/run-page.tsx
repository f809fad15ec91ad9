import { lazy, Suspense, useState } from "react";
import { Problem } from "../../components/problem.tsx";
import { ScriptedRunNotice } from "../../components/scripted-notice.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { useOpenAsks } from "../../data/open-asks.ts";
import { useRunFeed } from "../../data/run-feed.ts";
import { useQueryWord } from "../../router/router.ts";
import { RunAsks } from "../inbox/run-asks.tsx";
import { RunSlider } from "./replay/run-slider.tsx";
import { useReplay } from "./replay/use-replay.ts";
import { RunHead } from "./run-head.tsx";
import { runStateOf } from "./run-state-of.ts";
import { RunTree } from "./run-tree.tsx";
import { Timeline } from "./timeline.tsx";

const RunGantt = lazy(async () => {
  const { RunGantt: chart } = await import("./gantt/run-gantt.tsx");
  return { default: chart };
});

export function RunPage({ runId }: { readonly runId: string }) {
  const feed = useRunFeed(runId);
  const asks = useOpenAsks(runId);
  const [view, setView] = useQueryWord("view", "tree");
  const [chosen, setChosen] = useState<string | null>(null);
  const { moment, position, setPosition, view: shown } = useReplay(feed);
  const isNarrow = useMedia(narrow);
  const isWide = useMedia("(min-width: 1280px)");
  if (feed.error !== undefined && feed.events.length === 0) return <Problem error={feed.error} />;
  if (feed.events.length === 0) return <h1 className="px-4 py-6 text-soft">Reading {runId}…</h1>;
  const state = runStateOf(feed);
  // While it is read, no clock runs: it may have ended long ago.
  const readUpTo = feed.isComplete ? null : (feed.events.at(-1)?.at ?? null);
  const tree = () => (
    <RunTree
      feed={shown}
      at={moment?.at ?? readUpTo}
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
        isOpen={state === "running" && feed.isComplete}
        isNarrow={isNarrow}
        chosen={chosen}
        onChoose={setChosen}
      />
    </Suspense>
  );
  const timeline = () => <Timeline feed={shown} chosen={chosen} onChoose={setChosen} />;
  return (
    <>
      <RunHead feed={feed} shown={shown} moment={moment} onNow={() => setPosition(null)} />
      <ScriptedRunNotice feed={feed} />
      {feed.error !== undefined && <Problem error={feed.error} />}
      {moment === null && <RunAsks asks={asks} className="border-b border-line" />}
      {/* Where the head leaves no room, the page scrolls, and the slider stays in sight. */}
      <div className="flex min-h-0 flex-1 max-sm:min-h-96 max-sm:shrink-0">
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
