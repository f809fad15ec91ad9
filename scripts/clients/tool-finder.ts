// How a model comes to one of our tools, whatever the client does to save tokens: the tool is offered, or
// has to be searched for, or is called from a program.
import type { Conversation, Reply } from "./model-protocols.ts";

interface ToolStep {
  readonly tool: string;
  readonly args: object;
}

/** What a model does next: it calls one of our tools, or answers. */
export type Step = ToolStep | { readonly text: string };

/** What a person's model would look for, in place of the exact name. */
const queries: Readonly<Record<string, string>> = {
  delegate_task: "delegate a task to a sub-agent",
  spawn: "spawn a sub-agent in the background",
  spawn_await: "wait for the sub-agents that were spawned",
  get_delegation_result: "get the result of a delegation",
  list_sub_agents: "list sub-agents",
};

export class ToolFinder {
  readonly #problems: string[];

  constructor(problems: string[]) {
    this.#problems = problems;
  }

  find(step: ToolStep, { tools, found, search }: Conversation): Reply {
    const name = new RegExp(`^(?:mcp_+)?(?:mandate_+)?${step.tool}$`);
    const call = [...tools, ...found].find((each) => name.test(each.name));
    if (call !== undefined) return { call, args: step.args };
    if (search === "exec") {
      const called = `await tools.mcp__mandate__${step.tool}(${JSON.stringify(step.args)})`;
      return {
        code: `// @exec: {"yield_time_ms": 600000}\nconst result = ${called};\ntext(typeof result === "string" ? result : JSON.stringify(result));`,
      };
    }
    if (search === "ToolSearch" && this.#isNew(step.tool)) {
      const query = `select:mcp__mandate__${step.tool}`;
      return { call: { name: search }, args: { query, max_results: 5 } };
    }
    const wait = tools.find((each) => each.name === "WaitForMcpServers");
    if (wait !== undefined && this.#isNew(wait.name)) return { call: wait, args: {} };
    const query = queries[step.tool] ?? step.tool;
    const known = found.map((each) => each.name).join(", ");
    const isConnected = found.some((each) => each.namespace?.includes("mandate"));
    if (search === "tool_search" && (this.#isNew(query) || (!isConnected && this.#retries-- > 0))) {
      return { search: query };
    }
    const names = tools.map((each) => each.name).join(", ");
    this.#problems.push(
      `${step.tool} is not offered; offered: ${names}; "${query}" found: ${known}`,
    );
    return { text: `The tool ${step.tool} is not offered.` };
  }

  #isNew(attempt: string): boolean {
    return this.#tried.size < this.#tried.add(attempt).size;
  }

  readonly #tried = new Set<string>();
  /** A server that is still being started has no tools yet; a model that takes its time finds them. */
  #retries = 20;
}
