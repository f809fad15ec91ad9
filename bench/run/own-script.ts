import { setTimeout as delay } from "node:timers/promises";
import type { AgentSpec, Reply } from "./subject.ts";

/** What happens while a script is played, for those who measure. */
export interface Counters {
  live: number;
  peak: number;
  /** When a leaf was asked; null: nobody wants to know. */
  stamps: number[] | null;
  /** Holds leaves back in their last turn. */
  barrier: (() => Promise<void>) | null;
}

export interface Shape {
  /** Children of the root in one turn. */
  readonly width: number;
  /** Delegations from the root to the leaf. */
  readonly depth: number;
  /** Tool turns of a leaf, and the length of what each gives. */
  readonly turns: number;
  readonly payload: number;
  readonly latencyMs: number;
}

export const single: Shape = { width: 1, depth: 1, turns: 1, payload: 16, latencyMs: 0 };

/** The script behaves as that of the peers: agents that delegate, and leaves that tick. */
export function scriptOf(shape: Shape, counters: Counters): AgentSpec {
  let spec = leaf(shape, counters);
  for (let level = shape.depth - 1; level >= 0; level--) {
    spec = delegator(
      level === 0 ? "parent" : `mid${level}`,
      spec,
      level === 0 ? shape.width : 1,
      shape,
    );
  }
  return spec;
}

let calls = 0;

function call(name: string, args: unknown) {
  calls += 1;
  return { id: `call_${calls}`, name, args };
}

// No timer at all without latency: a zero timeout takes a millisecond and would hide the overhead.
const wait = (ms: number): Promise<void> | undefined => (ms > 0 ? delay(ms) : undefined);

function leaf({ turns, payload, latencyMs }: Shape, counters: Counters): AgentSpec {
  const filling = "x".repeat(payload);
  return {
    name: "child",
    instructions: "You are a worker. Use tick, then answer.",
    tool: { name: "tick", description: "Counts one step.", run: ({ n }) => `${n}:${filling}` },
    async respond({ last, lastText }): Promise<Reply> {
      counters.stamps?.push(performance.now());
      const done = last === "tool" ? Number.parseInt(lastText, 10) : 0;
      if (done === 0) counters.peak = Math.max(counters.peak, ++counters.live);
      if (done >= turns) await counters.barrier?.();
      await wait(latencyMs);
      if (done < turns) return { calls: [call("tick", { n: done + 1 })] };
      counters.live -= 1;
      return { text: "child-ok" };
    },
  };
}

function delegator(name: string, child: AgentSpec, width: number, { latencyMs }: Shape): AgentSpec {
  return {
    name,
    instructions: "You are a coordinator. Delegate, then answer.",
    child,
    async respond(view): Promise<Reply> {
      await wait(latencyMs);
      if (view.last === "user") {
        const task = (_: unknown, index: number) => call("delegate", { task: `do item ${index}` });
        return { calls: Array.from({ length: width }, task) };
      }
      const results = view.countResults();
      if (results !== width) throw new Error(`${name} got ${results} results instead of ${width}`);
      return { text: `${name}-ok` };
    },
  };
}
