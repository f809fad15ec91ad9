import type { ToolCall } from "../ports/model.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { closeWith } from "./close.ts";
import { performCall } from "./perform-calls.ts";
import { event } from "./take-turn.ts";

/**
 * An agent that another program runs, as the root of a run of ours. We see its calls, not its turns.
 */
export class Session {
  readonly #agent: Agent;
  #calls = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
    agent.status = "running";
    agent.attempt = 1;
    agent.begin();
    agent.record(
      event(agent, "agent.subagent_started", { strategy: "external" }),
      event(agent, "agent.subagent_attempt", { attempt: 1, of: 1 }),
    );
  }

  get runId(): string {
    return this.#agent.run.id;
  }

  get delegationId(): string {
    return this.#agent.id;
  }

  /** The tools that the session's contract grants. */
  get tools(): readonly string[] {
    return this.#agent.contract.permissions.allowed_tools;
  }

  /** Calls a tool on behalf of the other program's agent; the result is on disk when it is given. */
  async call(tool: string, input: unknown): Promise<ToolResult> {
    const call: ToolCall = { id: `call_${++this.#calls}`, name: tool, input };
    const result = await performCall(this.#agent, call, false, false);
    await this.#agent.durable();
    return result;
  }

  /** Ends the session and whatever still runs below it. Safe to repeat. */
  async close(): Promise<void> {
    const text = "The session ended.";
    await closeWith(this.#agent, { kind: "output", text, truncated: false, reason: null });
    await this.#agent.closing;
  }
}
