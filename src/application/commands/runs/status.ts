import type { Delegation } from "../../../events/delegation.ts";
import { isOpen } from "../../../events/delegation.ts";
import { atMost, spentOf } from "../../../events/spent.ts";
import { infoOf } from "../../../sessions/delegation-result.ts";
import type { KnownRun } from "../../steering.ts";
import { defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";
import { firstLines, isWatching, labelOf, stateOf, titleLine } from "./describe-run.ts";

const mostLines = 50;

export const showStatus = defineCommand({
  name: "status",
  form: "",
  about: "Shows what runs: a line for each agent.",
  parse: parseNothing,
  async execute(_given, { steering }) {
    const runs = await steering.openRuns();
    const data = runs.flatMap(describeOpen);
    const lines = runs.flatMap(linesOf);
    if (lines.length === 0) return { reply: "Nothing runs.", data };
    return { reply: ["Running:", ...firstLines(lines, mostLines)].join("\n"), data };
  },
});

function openIn({ state }: KnownRun): readonly Delegation[] {
  return [...(state?.delegations.values() ?? [])].filter(isOpen);
}

function linesOf(run: KnownRun): readonly string[] {
  if (run.state === null) return [`- run ${run.id} unreadable: ${titleLine(run.task)}`];
  const { state: log } = run;
  return openIn(run).map((delegation) => {
    const state = stateOf(log, delegation, run.isInterrupted);
    const spent = spentOf(delegation);
    const tokens = atMost(`${spent.tokens} tokens`, spent);
    const title = titleLine(delegation.title);
    return `- ${labelOf(delegation)} ${state}, ${tokens}, run ${run.id}: ${title}`;
  });
}

function describeOpen(run: KnownRun): readonly object[] {
  const { id: runId, isInterrupted, state } = run;
  if (state === null) return [];
  return openIn(run).map((delegation) => ({
    runId,
    ...infoOf(state, delegation, isInterrupted),
    isInterrupted,
    isWatching: isWatching(delegation),
  }));
}
