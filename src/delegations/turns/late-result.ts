import type { Agent } from "../agent.ts";

/**
 * Something that a delegation no longer waits for came after all. It changes nothing; that it came
 * is noted on the run, since the delegation itself may be closed.
 */
export function noteLateResult({ id, run }: Agent, what: string): void {
  if (run.finished || run.lost) return;
  const payload = { sub_agent_id: id, detail: `${what} came too late and was discarded` };
  // The run may end at this very moment; then there is nowhere left to note it.
  void run.append([{ type: "run.late_result", payload }]).catch(() => undefined);
}
