// What every client is put through: what its model calls, what disturbs it, and what has to be true.
import type { Plan } from "./model-server.ts";
import type { Step } from "./tool-finder.ts";

/** What was seen of one session of a client. */
export interface Session {
  /** Undefined: a signal ended the client. */
  readonly code: number | null;
  readonly output: string;
  /** The results of our tools, as the client's model saw them. */
  readonly results: readonly string[];
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly plan: Plan;
  /** How long the sub-agent's model takes. */
  readonly holdMs?: number;
  /** What happens while the sub-agent's model is at work. */
  readonly disturb?: "interrupt" | "kill";
  /** The client's next session, after a disturbance. */
  readonly planAfter?: Plan;
  /** Null: as it should be; otherwise what is not. */
  check(session: Session, answer: string): string | null;
}

const forever = 2 ** 31 - 1;
const profile = "summarizer";
const task = "Say what the answer is.";

const running = /"status\\*":\s*\\*"(?:running|working)|: RUNNING\]/;
const idIn = (text: string): string =>
  /"delegationId\\*":\s*\\*"([0-9a-f]{6,})/.exec(text)?.[1] ?? "no-id";
const jobIn = (text: string): string =>
  /"(?:job_?id|jobId|id|delegationId)\\*":\s*\\*"([0-9a-f]{6,})/.exec(text)?.[1] ??
  /\b[0-9a-f]{6,}\b/.exec(text)?.[0] ??
  "no-id";

/** Says the latest result, once it is one: a client may give up waiting before the sub-agent is done. */
function collected(results: readonly string[], collect: (id: string) => Step): Step {
  const last = results.at(-1) ?? "";
  if (!running.test(last) || results.length > 6) return { text: `The result: ${last}` };
  return collect(idIn(results.find((each) => idIn(each) !== "no-id") ?? ""));
}

const fetchResult = (delegationId: string): Step => ({
  tool: "get_delegation_result",
  args: { delegationId, wait_ms: 45_000 },
});

const delegate: Plan = (results) =>
  results.length === 0
    ? { tool: "delegate_task", args: { profile, task } }
    : collected(results, fetchResult);

function hasAnswer({ code, output, results }: Session, answer: string): string | null {
  const last = results.at(-1) ?? "no result";
  if (!last.includes(answer)) return `the answer did not arrive: ${last.slice(0, 300)}`;
  if (code !== 0) return `the client ended with ${code}`;
  return output.includes(answer) ? null : "the client did not print the answer";
}

export const scenarios: readonly Scenario[] = [
  {
    name: "delegate",
    about: "delegate_task waits for the result",
    plan: delegate,
    check: (session, answer) =>
      session.results.length === 1
        ? hasAnswer(session, answer)
        : `${session.results.length} calls in place of one`,
  },
  {
    name: "result",
    about: "get_delegation_result gives it again, by its id",
    plan: (results) => {
      const [first] = results;
      if (first === undefined) return { tool: "delegate_task", args: { profile, task } };
      if (results.length === 1) return fetchResult(idIn(first));
      return collected(results, fetchResult);
    },
    check: hasAnswer,
  },
  {
    name: "spawn",
    about: "spawn and spawn_await",
    plan: (results) => {
      const [first] = results;
      if (first === undefined) return { tool: "spawn", args: { profile, task } };
      const await_: Step = { tool: "spawn_await", args: { job_ids: jobIn(first) } };
      return results.length === 1 ? await_ : collected(results, () => await_);
    },
    check: hasAnswer,
  },
  {
    name: "refused",
    about: "an unknown profile is refused, and the known ones are named",
    plan: ([refusal]) =>
      refusal === undefined
        ? { tool: "delegate_task", args: { profile: "no-such-profile", task } }
        : { text: `Refused: ${refusal}` },
    check: ({ code, results: [refusal = "no result"] }) => {
      if (!/no-such-profile/.test(refusal)) return `the name is missing: ${refusal.slice(0, 300)}`;
      if (!/summarizer/.test(refusal)) return `known names are missing: ${refusal.slice(0, 300)}`;
      return code === 0 ? null : `the client ended with ${code}`;
    },
  },
  {
    name: "interrupt",
    about: "Ctrl-C in the client ends the server and what works below it",
    plan: delegate,
    holdMs: forever,
    disturb: "interrupt",
    check: () => null,
  },
  {
    name: "75 s",
    about: "a sub-agent that takes 75 seconds",
    plan: delegate,
    holdMs: 75_000,
    check: hasAnswer,
  },
  {
    name: "kill",
    about: "after kill -9 of the server the next session sees its work, and it can be resumed",
    plan: delegate,
    holdMs: forever,
    disturb: "kill",
    planAfter: ([list]) =>
      list === undefined ? { tool: "list_sub_agents", args: {} } : { text: `There is: ${list}` },
    check: ({ results: [list = "no result"] }) =>
      /interrupted/.test(list) && /mandate resume/.test(list)
        ? null
        : `the next session does not see it: ${list.slice(0, 300)}`,
  },
];
