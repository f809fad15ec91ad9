import type { ForgedLog, LooseEvent } from "./forged-log.test-support.ts";
import type { HealthyRuns } from "./healthy-database.test-support.ts";
import { type Finder, inRun, patch, type SeededBug } from "./seeded-bug.test-support.ts";

/** Which profile's child carries out a step; null: nobody does. */
type Steps = Readonly<Record<string, string | null>>;

/** The lead's children as if plans of it had made them; the last one stands. */
function planned(
  events: LooseEvent[],
  find: Finder,
  { by = "lead", plans }: { readonly by?: string; readonly plans: readonly Steps[] },
): LooseEvent[] {
  const planner = events[find("agent.subagent_created", by)]?.sub_agent_id ?? "";
  let changed = events;
  for (const [number, steps] of plans.entries()) {
    for (const [key, profile] of Object.entries(steps)) {
      if (profile === null) continue;
      const created = find("agent.subagent_created", profile);
      changed = patch(changed, created, { call_id: `plan${number}/${key}` });
    }
  }
  // The keys with a number are tries of the step before them.
  const payloads = plans.map((steps, number) => ({
    by: planner,
    call_id: `plan${number}`,
    steps: Object.keys(steps)
      .filter((key) => !/-\d$/.test(key))
      .map((key) => ({ key, title: key, profile: "leaf", depends_on: [], owns: [] })),
  }));
  const added = payloads.map((payload) => ({ type: "run.planned", at: 1, payload }) as LooseEvent);
  return changed.toSpliced(find("agent.subagent_created", "middle"), 0, ...added);
}

function bug(title: string, plans: readonly Steps[]): SeededBug {
  return {
    ...inRun("rich", title, "I14", (events, find) => planned(events, find, { plans })),
    says: /the step "b" of the plan of \w+ was not completed/,
  };
}

/** A plan that counts a step as done by somebody before. */
function earlier(title: string, doneBy: (events: LooseEvent[], find: Finder) => string): SeededBug {
  return {
    ...inRun("rich", title, "I14", (events, find) => {
      const by = events[find("agent.subagent_created", "lead")]?.sub_agent_id ?? "";
      const done = { done_by: doneBy(events, find) };
      const step = { key: "b", title: "b", profile: "leaf", depends_on: [], owns: [], ...done };
      const payload = { by, call_id: "plan0", steps: [step] };
      const planned = { type: "run.planned", at: 1, payload } as LooseEvent;
      return events.toSpliced(find("agent.subagent_created", "middle"), 0, planned);
    }),
    says: /counts the step "b" as completed by \w+, but/,
  };
}

const childOf = (profile: string) => (events: LooseEvent[], find: Finder) =>
  events[find("agent.subagent_created", profile)]?.sub_agent_id ?? "";

/** Runs that call themselves a success while their plan says otherwise. */
export const forgedPlans: readonly SeededBug[] = [
  bug("a run succeeds though a step of its plan was never begun", [{ a: "middle", b: null }]),
  bug("a run succeeds though a step of its plan failed", [{ a: "middle", b: "failing" }]),
  bug("a run succeeds though the second try of a step failed too", [
    { a: "middle", "b-2": "failing", b: null },
  ]),
  bug("a run succeeds by a plan that another one superseded", [{ a: "middle" }, { b: null }]),
  earlier("a run succeeds by a step of before that nobody ever did", () => "ffffff"),
  earlier("a run succeeds by a step of before that had failed", childOf("failing")),
  earlier("a run succeeds by what somebody did for somebody else", childOf("middle")),
];

/** Changes to a plan's log that break nothing: the checker must accept them. */
export const soundPlans: readonly {
  readonly title: string;
  change(log: ForgedLog, runs: HealthyRuns): void;
}[] = [
  inRun("rich", "every step was completed, one of them at the second try", "I14", (events, find) =>
    planned(events, find, { plans: [{ a: "middle", b: "failing", "b-2": "flaky" }] }),
  ),
  inRun("rich", "a later plan supersedes the one that failed", "I14", (events, find) =>
    planned(events, find, { plans: [{ a: "failing", b: null }, { c: "middle" }] }),
  ),
  inRun("rich", "whose planner failed itself", "I14", (events, find) =>
    planned(events, find, { by: "failing", plans: [{ a: null }] }),
  ),
  inRun("rich", "of a run that did not succeed", "I14", (events, find) =>
    planned(patch(events, find("run.finished"), { outcome: "failed" }), find, {
      plans: [{ a: null }],
    }),
  ),
];
