import { appendFileSync } from "node:fs";
import type { Script } from "../models/scripted/scripted-model.ts";

/**
 * A model that does what its task says: `wait 200`, `steps 3 50` (three turns with a call, 50 ms
 * each), `say 900 words` (word by word), `ask` (a question to a person), `fan 4 wait 10` (four children with that task), `plan HASH`
 * (a stored plan), `write 200` (a file of its own). What it is asked is noted, a line each, in a file
 * that several processes share.
 */
export function spokenScript(notes: string | undefined): Script {
  return ({ caller }) => {
    const { delegationId, task, turn } = caller;
    if (notes !== undefined) appendFileSync(notes, `${delegationId} ${turn}\n`);
    const [verb, first = "0", ...rest] = task.split(" ");
    const amount = Number(first);
    if (verb === "ask" && turn === 1) {
      return { calls: [{ tool: "ask_user", input: { message: "Which harbour?" } }] };
    }
    if (verb === "wait") return { text: "waited", latency_ms: amount };
    if (verb === "say") {
      return { text: rest.join(" "), latency_ms: amount, chunks: Math.max(1, rest.length) };
    }
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
    if (verb === "write") {
      if (turn > 1) return { text: "written" };
      const input = { path: `${delegationId}.txt`, content: task };
      return { calls: [{ tool: "write_file", input }], latency_ms: amount };
    }
    if (verb === "plan" && turn === 1) {
      return { calls: [{ tool: "submit_plan", input: { plan: first } }] };
    }
    return "done";
  };
}
