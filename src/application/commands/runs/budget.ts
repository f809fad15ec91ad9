import type { Delegation } from "../../../events/delegation.ts";
import { subtree } from "../../../events/run-state.ts";
import { nothingSpent, type Spent, spentIn, spentOf, sumOf } from "../../../events/spent.ts";
import type { KnownRun, Steering } from "../../steering.ts";
import { defineCommand } from "../command.ts";
import { parseOptionalId } from "../parse-id.ts";
import { amountsOf, firstLines, labelOf, titleLine } from "./describe-run.ts";

const mostLines = 100;

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
      reply: ["Budget:", ...firstLines(lines, mostLines)].join("\n"),
      data: runs.map(dataOf),
    };
  },
});

async function ofRun(run: KnownRun, steering: Steering) {
  const delegations = [...(run.state?.delegations.values() ?? [])];
  const shown = delegations.slice(0, mostLines);
  const caps = await steering.capsOf(shown.map(({ id }) => id));
  // A cap is about an agent and everybody below it, and so is what stands against it.
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
