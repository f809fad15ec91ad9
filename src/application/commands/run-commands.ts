import { type Delegation, isOpen, shownName } from "../../events/delegation.ts";
import { childrenByParent, type RunState, subtree } from "../../events/run-state.ts";
import { atMost, nothingSpent, type Spent, spentIn, spentOf, sumOf } from "../../events/spent.ts";
import { infoOf } from "../../sessions/delegation-result.ts";
import type { KnownRun, Steering } from "../steering.ts";
import { defineCommand } from "./command.ts";
import {
  amountsOf,
  firstLines,
  isWatching,
  labelOf,
  runStateOf,
  stateOf,
  titleLine,
} from "./describe-run.ts";
import { parseNothing, parseOptionalId } from "./parse-arguments.ts";

const mostAgents = 50;

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
    return { reply: ["Running:", ...firstLines(lines, mostAgents)].join("\n"), data };
  },
});

function openIn({ state }: KnownRun): readonly Delegation[] {
  return [...(state?.delegations.values() ?? [])].filter(isOpen);
}

function linesOf(run: KnownRun): readonly string[] {
  if (run.state === null) return [`- run ${run.id} unreadable: ${titleLine(run.task)}`];
  const { state: log } = run;
  return openIn(run).map((delegation) => {
    const state = stateOf(delegation, { log, isInterrupted: run.isInterrupted });
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

const mostNodes = 200;

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
      const state = stateOf(delegation, { log, isInterrupted: run.isInterrupted });
      const title = titleLine(delegation.title);
      const line = `- ${labelOf(delegation)} ${state}, ${amountsOf(spentOf(delegation))}: ${title}`;
      return "  ".repeat(level) + line;
    });
    const delegations = nodes.map(({ delegation, log }) => {
      return infoOf(log, delegation, run.isInterrupted);
    });
    const data = { runId: run.id, task: run.task, state: runStateOf(run), delegations };
    return { reply: [head, ...firstLines(lines, mostNodes)].join("\n"), data };
  },
});

interface Node {
  readonly log: RunState;
  readonly delegation: Delegation;
  readonly level: number;
}

/** Parents before their children, siblings in the order of steps. */
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

const mostBudgets = 100;

export const showBudget = defineCommand<{ readonly id?: string }>({
  name: "budget",
  form: "[run]",
  about: "Shows what was spent of what may be: by each open run, or by each agent of one run.",
  completes: ["run"],
  parse: parseOptionalId,
  async execute({ id }, { steering }) {
    if (id !== undefined) return ofRun(await steering.findRun(id), steering);
    const runs = await steering.openRuns();
    if (runs.length === 0) return { reply: "Nothing runs.", data: [] };
    const lines = runs.map((run) => `- ${lineOf(run)}`);
    return {
      reply: ["Budget:", ...firstLines(lines, mostBudgets)].join("\n"),
      data: runs.map(dataOf),
    };
  },
});

async function ofRun(run: KnownRun, steering: Steering) {
  const delegations = [...(run.state?.delegations.values() ?? [])];
  const shown = delegations.slice(0, mostBudgets);
  const caps = await steering.capsOf(shown.map(({ id }) => id));
  // A cap covers an agent and all of its descendants, so the spending does too.
  const rows = shown.map((delegation) => ({
    delegation,
    spent: spentBelow(run, delegation),
    cap: caps.get(delegation.id) ?? null,
  }));
  const lines = rows.map(
    ({ cap, delegation, spent }) => `- ${labelOf(delegation)}: ${amountsOf(spent, cap)}`,
  );
  const more = delegations.length - shown.length;
  const reply = [lineOf(run), ...lines, ...(more > 0 ? [`… and ${more} more.`] : [])].join("\n");
  const data = {
    ...dataOf(run),
    delegations: rows.map(({ cap, delegation: { client, id, profile }, spent }) => {
      const who = client === undefined ? { profile } : { profile, client };
      return { delegationId: id, ...who, ...spent, cap };
    }),
  };
  return { reply, data };
}

function spentBelow({ state }: KnownRun, { id }: Delegation): Spent {
  return state === null ? nothingSpent : sumOf(subtree(state, id).map(spentOf));
}

function lineOf(run: KnownRun): string {
  const { id, state, task } = run;
  if (state === null) return `Run ${id}: unreadable`;
  const cap = { tokens: state.budgetTokens, cost: null };
  return `Run ${id}: ${amountsOf(spentIn(state), cap)}: ${titleLine(task)}`;
}

function dataOf({ id, state }: KnownRun) {
  return { runId: id, ...(state && spentIn(state)), budgetTokens: state?.budgetTokens ?? null };
}

export const showSessions = defineCommand({
  name: "sessions",
  form: "",
  about: "Lists the last sessions, the latest first.",
  parse: parseNothing,
  async execute(_given, { steering }) {
    const rows = await steering.sessions();
    if (rows.length === 0) return { reply: "No sessions yet.", data: rows };
    const lines = rows.map((row) => {
      const { id, status, title, updatedAt } = row;
      const who = shownName(row) || "an agent";
      return `- ${id} ${who}, ${status}, ${moment(updatedAt)}, ${amountsOf(row)}: ${titleLine(title)}`;
    });
    return { reply: ["Sessions:", ...lines].join("\n"), data: rows };
  },
});

/** In UTC, so that a reply is the same everywhere. */
function moment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
