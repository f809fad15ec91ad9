import { checkStore } from "../../../events/checker/check-store.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf, formatSpan } from "../amounts.ts";
import { wrap } from "../display-width.ts";
import { drawTree } from "../draw-tree.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import { indented } from "../indented.ts";
import type { Io } from "../io.ts";
import { lineWidth } from "../line-width.ts";
import { RunView } from "../run-view.ts";
import { type Style, styleFor } from "../style.ts";
import type { WorkOutcome } from "../work-on.ts";

type Ended = Extract<WorkOutcome, { ended: "result" }>;

/** After the demonstration: the tree, the result, and whether the log holds. Gives the exit code. */
export async function tellWhatHappened(
  store: Store,
  { run, result }: Ended,
  io: Io,
): Promise<number> {
  const style = styleFor(io.stdout, io);
  const { paint, glyphs } = style;
  const columns = lineWidth(io.stdout);
  const view = await RunView.read(store, run.runId);
  await view.readBudgets();
  const report = await checkStore(store);
  const lines = [
    // On a terminal the live tree has stayed.
    ...(io.stderr.isTerminal ? [] : ["", ...drawTree(view, style, { now: io.now(), columns })]),
    "",
    ...wrap(sentence(view, result.duration), columns - 1).map(paint.dim),
    "",
    paint.strong(result.status === "completed" ? "Result" : "Failure"),
    indented(result.result),
    "",
    report.ok
      ? `${paint.good(glyphs.done)} verified: ${countOf(report.events, "event")} and ${countOf(report.delegations, "delegation")} in this log keep every promise`
      : `${paint.bad(glyphs.failed)} verify found ${countOf(report.violations.length, "violation")}`,
    "",
    "",
  ];
  io.stdout.write(lines.join("\n"));
  return report.ok ? exitCodeOfResult(result) : exitCode.failed;
}

/** Where to look closer, and what to do next, for who has no page of it. */
export async function tellWhereToLook(
  store: Store,
  { run }: Ended,
  io: Io,
  ownHome: string,
): Promise<void> {
  const style = styleFor(io.stdout, io);
  const { paint, glyphs } = style;
  const view = await RunView.read(store, run.runId);
  const lines = [
    ...whereToLook(view, io, ownHome, style),
    "",
    paint.strong("With a real model"),
    `  ANTHROPIC_API_KEY=${glyphs.ellipsis} ${io.program} run "What does this project do?"`,
    `  ${io.program} doctor`,
    "",
  ];
  io.stdout.write(lines.join("\n"));
}

function sentence(view: RunView, duration: number): string {
  const agents = [...view.state.delegations.values()];
  const notes = agents.map(({ id }) => view.notesOf(id));
  const sum = (pick: (note: (typeof notes)[number]) => number) =>
    notes.reduce((total, note) => total + pick(note), 0);
  const retries = agents.filter(({ attempt }) => attempt > 1).length;
  const resumed = sum(({ resumptions }) => resumptions);
  const parts = [
    countOf(agents.length, "agent"),
    countOf(retries, "second attempt"),
    `${countOf(
      sum(({ refusals }) => refusals),
      "call",
    )} refused`,
    ...(resumed > 0 ? [`taken up ${countOf(resumed, "time")} after a kill`] : []),
  ];
  return `${parts.join(", ")}, in ${formatSpan(duration)}.`;
}

function whereToLook(view: RunView, io: Io, ownHome: string, { paint }: Style): string[] {
  const agents = [...view.state.delegations.values()];
  const refused = agents.find(({ id }) => view.notesOf(id).refusals > 0);
  const retried = agents.find(({ attempt }) => attempt > 1);
  const { id } = view.state;
  const rows: (readonly [string, string])[] = [
    ...(refused ? [[`show ${refused.id}`, "the refused one's contract and receipt"] as const] : []),
    ...(retried
      ? [[`result ${retried.id} --json`, "a sealed result, with evidence"] as const]
      : []),
    [`logs ${id}`, "every event, one line each"],
    [`tree ${id}`, "the tree again"],
    ["verify", "check the whole log"],
  ];
  const width = Math.max(...rows.map(([command]) => command.length));
  const needed = 2 + io.program.length + 1 + width + 3 + 38;
  const isNarrow = io.stdout.isTerminal && io.stdout.columns <= needed;
  return [
    paint.strong("Look closer"),
    `  export MANDATE_HOME=${ownHome}`,
    ...rows.map(([command, about]) => {
      const note = paint.dim(about);
      // Either way the lines can be pasted as they are.
      if (isNarrow) return `  ${paint.dim("# ")}${note}\n  ${io.program} ${command}`;
      return `  ${io.program} ${command.padEnd(width)}   ${paint.dim("# ")}${note}`;
    }),
  ];
}
