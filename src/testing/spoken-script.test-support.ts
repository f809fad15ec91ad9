import { appendFileSync } from "node:fs";
import type { Script } from "../models/scripted/scripted-model.ts";

/**
 * A model that does what its task says: `wait 200`, `steps 3 50` (three turns with a call, 50 ms
 * each), `fan 4 wait 10` (four children with that task). What it is asked is noted, a line each, in
 * a file that several processes share.
 */
export function spokenScript(notes: string | undefined): Script {
  return ({ caller }) => {
    const { delegationId, task, turn } = caller;
    if (notes !== undefined) appendFileSync(notes, `${delegationId} ${turn}\n`);
    const [verb, first = "0", ...rest] = task.split(" ");
    const amount = Number(first);
    if (verb === "wait") return { text: "waited", latency_ms: amount };
    if (verb === "steps") {
      const latency_ms = Number(rest[0] ?? 0);
      if (turn > amount) return { text: `${amount} steps`, latency_ms };
      return { calls: [{ tool: "list_sub_agents", input: {} }], latency_ms };
    }
    if (verb === "fan" && turn === 1) {
      const input = { task: rest.join(" "), profile: "general", maxTokens: 200_000 };
      const call = { tool: "delegate_task", input };
      return { calls: Array.from({ length: amount }, () => call) };
    }
    return "done";
  };
}
