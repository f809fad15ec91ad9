import type { Delegation } from "../../../events/delegation.ts";
import { childrenByParent, type RunState } from "../../../events/run-state.ts";
import { spentOf } from "../../../events/spent.ts";
import { infoOf } from "../../../sessions/delegation-result.ts";
import type { KnownRun } from "../../steering.ts";
import { defineCommand } from "../command.ts";
import { parseOptionalId } from "../parse-id.ts";
import { amountsOf, firstLines, labelOf, runStateOf, stateOf, titleLine } from "./describe-run.ts";

const mostLines = 200;

export const showTree = defineCommand<{ readonly id?: string }>({
  name: "tree",
  form: "[run]",
  about:
    "Shows the delegations of a run as a tree, each with its status; without an id, of the latest run.",
  completes: ["run"],
  parse: parseOptionalId,
  async execute({ id }, { steering }) {
    const run = await steering.findRun(id);
    const head = `Run ${run.id} ${runStateOf(run)}: ${titleLine(run.task)}`;
    const nodes = nodesOf(run);
    const lines = nodes.map(({ delegation, level, log }) => {
      const state = stateOf(log, delegation, run.isInterrupted);
      const title = titleLine(delegation.title);
      const line = `- ${labelOf(delegation)} ${state}, ${amountsOf(spentOf(delegation))}: ${title}`;
      return "  ".repeat(level) + line;
    });
    const delegations = nodes.map(({ delegation, log }) => {
      return infoOf(log, delegation, run.isInterrupted);
    });
    const data = { runId: run.id, task: run.task, state: runStateOf(run), delegations };
    return { reply: [head, ...firstLines(lines, mostLines)].join("\n"), data };
  },
});

interface Node {
  readonly log: RunState;
  readonly delegation: Delegation;
  readonly level: number;
}

/** Parents before their children, each level in the order of its steps. */
function nodesOf({ state }: KnownRun): readonly Node[] {
  if (state === null) return [];
  const children = childrenByParent(state);
  const nodes: Node[] = [];
  const visit = (parentId: string | null, level: number): void => {
    for (const delegation of children.get(parentId) ?? []) {
      nodes.push({ log: state, delegation, level });
      visit(delegation.id, level + 1);
    }
  };
  visit(null, 0);
  return nodes;
}
