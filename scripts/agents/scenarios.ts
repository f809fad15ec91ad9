// What every agent program is put through, and what has to be true afterwards.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { costOf, type TokenPrice } from "../../src/contracts/token-price.ts";
import type { EventType, StoredEvent } from "../../src/events/event.ts";
import { type AgentCell, require } from "./agent-cell.ts";
import { hostile } from "./hostile.ts";
import { killed } from "./killed.ts";

/** What was measured, by name; of several rounds the largest counts. */
export type Figures = Readonly<Record<string, number>>;

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly rounds: number;
  /** Throws where something is not as it should be. */
  run(cell: AgentCell, round: number): Promise<Figures>;
}

function ofType<Type extends EventType>(events: readonly StoredEvent[], type: Type) {
  return events.filter((one) => one.type === type) as StoredEvent[] as StoredEvent<Type>[];
}

/** What the log has of requests to models, against what the provider has billed. */
function compareBill(cell: AgentCell, events: readonly StoredEvent[]): number {
  const settled = ofType(events, "agent.budget_settled").map(({ payload }) => payload);
  const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
  const { billed } = cell.model;
  // The log has at least what was billed: of a request that the program cut, an estimate.
  const isEstimated = settled.some((one) => one.estimated === true);
  for (const kind of ["prompt", "completion"] as const) {
    const logged = sum(settled.map((one) => one[kind]));
    const reported = sum(billed.map((one) => one[kind]));
    const isSame = isEstimated ? logged >= reported : logged === reported;
    require(isSame, `${kind} tokens: ${logged} in the log, ${reported} billed`);
  }
  require(settled.length >= billed.length, `${settled.length} requests, ${billed.length} billed`);
  return sum(settled.map(({ completion, prompt }) => prompt + completion));
}

/** Dollars of what was billed, by the prices in the contract. */
async function dollarsBilled(cell: AgentCell, delegation: string): Promise<number> {
  const shown = JSON.parse(await cell.mandate("show", "--json", delegation)) as {
    readonly contract: { readonly model: { readonly prices?: Record<string, TokenPrice> } };
  };
  const prices = Object.entries(shown.contract.model.prices ?? {});
  let dollars = 0;
  for (const one of cell.model.billed) {
    const price = prices.find(([name]) => name.endsWith(`/${one.model}`))?.[1];
    require(price !== undefined, `no price of ${one.model} among ${prices.map(([name]) => name)}`);
    dollars += costOf(price, one);
  }
  return dollars;
}

const writes: Scenario = {
  name: "write",
  about: "a file in its copy is merged and sealed; tree, costs and transcript are right",
  rounds: 1,
  async run(cell) {
    cell.model.plan = ({ returned }) =>
      returned.length === 0
        ? { line: "echo made-by-it > made.txt && echo wrote-it" }
        : { text: "I wrote made.txt." };
    const { closeReason, delegationId, result, runId, status, tokenUsage } = await cell.run();
    require(status === "completed", `${status} (${closeReason}): ${result}`);
    require(closeReason === "integrated", `closed as ${closeReason}`);
    const made = join(cell.project, "made.txt");
    require(existsSync(made), "made.txt was not merged");
    require(readFileSync(made, "utf8") === "made-by-it\n", "made.txt has another text");
    require(result.includes("I wrote made.txt."), `it answered ${result}`);
    const events = await cell.events(runId);
    const tokens = compareBill(cell, events);
    require(tokens === tokenUsage.prompt + tokenUsage.completion, "the result has other tokens");
    const dollars = await dollarsBilled(cell, delegationId);
    require(Math.abs(dollars - tokenUsage.cost) < 1e-5, `$${tokenUsage.cost}, billed $${dollars}`);
    const reports = ofType(events, "agent.program_reported").map(({ payload }) => payload);
    const calls = reports.filter((one) => one.what === "call");
    require(calls.length > 0, "the transcript has no call");
    require(calls.some(({ input = "", title }) =>
      `${input}${title}`.includes("made.txt"),
    ), "the transcript does not say what it called");
    const tree = await cell.mandate("tree", runId);
    require(tree.includes(cell.agent.name), `the tree does not have it: ${tree}`);
    require(ofType(events, "agent.subagent_closed").length === 1, "it was not sealed once");
    return { requests: cell.model.billed.length, tokens, dollars };
  },
};

const cap = 0.5;

function requireCapped(cell: AgentCell, cost: number, dollars: number): void {
  require(dollars <= cap, `the provider billed $${dollars}, over the cap of $${cap}`);
  require(cost <= cap, `the log has $${cost}, over the cap of $${cap}`);
  require(cell.model.billed.length > 1, "the loop did not run");
}

/** From the first refusal for the budget to the end of the delegation, in seconds. */
function secondsToEnd(events: readonly StoredEvent[]): number {
  const refused = ofType(events, "agent.request_refused")[0]?.at;
  const ended = ofType(events, "agent.subagent_closed").at(-1)?.at;
  return refused === undefined || ended === undefined ? 0 : (ended - refused) / 1000;
}

const loops: Scenario = {
  name: "loop",
  about: "a model that loops endlessly never spends more than the cap, and the program ends",
  rounds: 20,
  async run(cell, round) {
    cell.model.usage = { prompt: 15_000, completion: 2000 };
    cell.model.plan = ({ before }) => ({ line: `echo ${round} ${before}` });
    const { closeReason, delegationId, result, runId, tokenUsage } = await cell.run(
      "--max-cost",
      `${cap}`,
    );
    require(closeReason === "budget_exhausted", `closed as ${closeReason}: ${result}`);
    const events = await cell.events(runId);
    compareBill(cell, events);
    const dollars = await dollarsBilled(cell, delegationId);
    requireCapped(cell, tokenUsage.cost, dollars);
    const seconds = secondsToEnd(events);
    return { requests: cell.model.billed.length, dollars, "s to end": seconds };
  },
};

const nested: Scenario = {
  name: "nested",
  about: "its own sub-agents loop endlessly, and are metered by the same cap",
  rounds: 1,
  async run(cell) {
    cell.model.usage = { prompt: 15_000, completion: 2000 };
    cell.model.plan = ({ before, isMain, tools }) => {
      if (!isMain) return { line: `echo nested ${before}` };
      if (before === 0) return { subAgent: "Work on PART-OF-THE-TASK until you are told to stop." };
      const waits = tools.some(({ name }) => name === "wait_agent");
      if (!waits) return { text: "The sub-agent is done." };
      return { call: "wait_agent", namespace: "collaboration", args: { timeout_ms: 60_000 } };
    };
    const { closeReason, delegationId, result, runId, tokenUsage } = await cell.run(
      "--max-cost",
      `${cap}`,
    );
    const events = await cell.events(runId);
    compareBill(cell, events);
    const dollars = await dollarsBilled(cell, delegationId);
    requireCapped(cell, tokenUsage.cost, dollars);
    const own = cell.model.billed.filter(({ isAux, isMain }) => !isMain && !isAux).length;
    require(own > 1, `its sub-agent made ${own} requests (${closeReason}: ${result})`);
    require(closeReason === "budget_exhausted", `closed as ${closeReason}: ${result}`);
    return { requests: cell.model.billed.length, "of sub-agents": own, dollars };
  },
};

const delegates: Scenario = {
  name: "delegate",
  about: "it delegates over our MCP server, and the child is below it in the tree",
  rounds: 1,
  async run(cell) {
    const task = "Say what the answer is.";
    cell.model.plan = ({ isMain, results }) => {
      if (!isMain) return { text: "The answer is forty-two." };
      const last = results.at(-1);
      if (last !== undefined) return { text: `The child said: ${last}` };
      return { tool: "delegate_task", args: { profile: "summarizer", task } };
    };
    const { delegationId, result, runId, status } = await cell.run();
    require(status === "completed", `${status}: ${result}`);
    require(result.includes("forty-two"), `the child's answer did not arrive: ${result}`);
    const events = await cell.events(runId);
    compareBill(cell, events);
    const children = ofType(events, "agent.subagent_created").filter(
      ({ payload }) => payload.parent_id === delegationId,
    );
    require(children.length === 1, `${children.length} children`);
    require(children[0]?.payload.profile === "summarizer", "the child has another profile");
    return { requests: cell.model.billed.length, children: children.length };
  },
};

export const scenarios: readonly Scenario[] = [writes, loops, nested, delegates, hostile, killed];
