import { z } from "zod";
import type { ProfileRegistry } from "../../agents/profiles/profile-registry.ts";
import { consentIn, longestApproval } from "../../events/consent.ts";
import { sha256 } from "../../events/hash-chain.ts";
import type { AskOutcome, Delegator, PlanRecorder } from "../../ports/delegator.ts";
import { revealHidden } from "../../ports/visible-text.ts";
import { childTool, delegateAbout } from "../delegation/delegation-call.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutput } from "../tool.ts";
import { carryOutPlan } from "./carry-out-plan.ts";
import { longestPlan, type Plan, type PlanStep, planSchema } from "./plan.ts";
import { mergeSequence } from "./plan-order.ts";
import { describeProblems } from "./plan-problem.ts";
import { PlanProgress } from "./plan-progress.ts";
import { reportPlan } from "./report-plan.ts";
import { type StepRecord, stepContext, stepRequest, stepReview } from "./step-request.ts";
import { planProfiles, validatePlan } from "./validate-plan.ts";

interface PlanToolSources {
  readonly profiles: Pick<ProfileRegistry, "get" | "problemOf" | "offered">;
  /** Delegations that a run may have. */
  readonly maxChildren: number;
  readonly maxConcurrent: number;
  /** For one attempt at a step that does not say it itself. */
  readonly attemptTimeoutMs: number;
}

/** The problems of a plan are reported as sentences and all at once, so the gate lets it through. */
const anything = z.record(z.string(), z.unknown());

/** Plans of an orchestrator, and of people who wrote one down: `plan` names a stored one by hash. */
export function submitPlanTool(sources: PlanToolSources): Tool {
  return defineTool({
    name: "submit_plan",
    description:
      "Run a plan: steps as sub-agents over their dependencies, side by side where what they own does not overlap. Waits for all of them and reports on each. A later plan supersedes the one before.",
    ...childTool,
    onlyFor: "orchestrator",
    waits: true,
    input: anything,
    shown: planSchema,
    about: (input, context) => aboutPlan(input, context),
    async execute(input, { delegator, signal, workspace }): Promise<ToolOutput> {
      const document = input["plan"] === undefined ? input : await stored(input, delegator);
      if (typeof document === "string") return { text: `Error: ${document}`, isError: true };
      const profiles = planProfiles(sources.profiles, (name) => delegator.profileBehind(name));
      const { maxChildren } = sources;
      const checked = validatePlan(document, { profiles, maxChildren });
      if (checked.problems) return refusal(describeProblems(checked.problems));
      const { plan } = checked;
      if (plan.approval) {
        const question = questionAbout(plan);
        if (question.length > longestApproval) return refusal(tooLong);
        const about = sha256(JSON.stringify(plan));
        const objection = objectionIn(await delegator.ask(question, "approval", about));
        if (objection !== undefined) return { text: objection, isError: true, notApproved: true };
      }
      const earlier = await earlierSteps(plan, delegator);
      const canWrite = workspace?.allowWrites === true;
      const sequence = await delegator.plans.record(
        plannedSteps(plan, earlier),
        mergeSequence(plan.steps, { canWrite }),
      );
      const isEarlier = new Set([...earlier.keys()].map((place) => plan.steps[place]?.id));
      const progress = new PlanProgress(plan.steps, {
        atOnce: Math.max(leastAtOnce, 2 * sources.maxConcurrent),
        canWrite,
        sequence,
        wasBegun: (key) => isEarlier.has(key) || delegator.plans.wasBegun(key),
      });
      const { attemptTimeoutMs } = sources;
      const options = { delegator, signal, earlier, attemptTimeoutMs };
      try {
        const { children, records } = await carryOutPlan(plan, progress, options);
        delegator.results.delivered(children);
        return reportPlan(plan, progress, records, delegator.results.joinTokens);
      } finally {
        for (const { id } of plan.steps) delegator.plans.stepSettled(id);
      }
    },
  });
}

/** A step that waits to be merged takes a slot as well, so there are more slots than working children. */
const leastAtOnce = 64;

const tooLong = `A person has to approve it, and it is too long to be shown whole (more than ${longestApproval} characters). Split it into shorter plans.`;

function refusal(problems: string): ToolOutput {
  const text = `Error: nothing was started, since the plan cannot be carried out.\n${problems}\nFix that and submit it again.`;
  return { text, isError: true };
}

/** The document, or why it cannot be read. */
async function stored(
  input: Readonly<Record<string, unknown>>,
  delegator: Delegator,
): Promise<unknown> {
  const { plan: hash, ...others } = input;
  if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash) || Object.keys(others).length > 0) {
    return "plan is the hash of a stored plan, and stands alone. Give goal and steps instead.";
  }
  const text = await delegator.readArtifact(hash);
  if (text === undefined) return `there is no stored plan ${hash}.`;
  if (text.length > longestPlan) return "the stored plan is too large.";
  try {
    const document: unknown = JSON.parse(text);
    return typeof document === "string" ? "what is stored there is no plan." : document;
  } catch {
    return "what is stored there is no plan.";
  }
}

/** All profiles that the plan names. A plan that cannot be parsed gets the stricter reading of every rule. */
function aboutPlan(
  { steps }: Readonly<Record<string, unknown>>,
  context: ToolContext,
): ReturnType<NonNullable<Tool["about"]>> {
  const parsed = namedIn.parse(steps);
  const names = parsed.flatMap(({ profile, review }) => [
    profile,
    ...(typeof review === "object" ? [review.profile] : review === true ? ["reviewer"] : []),
  ]);
  const values = [...new Set(names)].flatMap((name) => delegateAbout(name, context).values);
  return { kind: "text", values: [...new Set(values)] };
}

const namedIn = z.array(
  z.object({
    profile: z.string(),
    review: z.union([z.boolean(), z.object({ profile: z.string() })]).optional(),
  }),
);

function plannedSteps(
  { steps }: Plan,
  earlier: ReadonlyMap<number, StepRecord>,
): Parameters<PlanRecorder["record"]>[0] {
  return steps.map(({ dependsOn, id, owns, profile, title }, place) => {
    const doneBy = earlier.get(place)?.result?.delegationId;
    return {
      key: id,
      title,
      profile,
      depends_on: dependsOn.map((place) => steps[place]?.id ?? ""),
      owns,
      ...(doneBy !== undefined && { done_by: doneBy }),
    };
  });
}

/**
 * The steps that were completed before the runner of the plan was interrupted, by place: given the
 * same to do, after the same results. What depends on a step that is still to be done is as well.
 */
async function earlierSteps(
  plan: Plan,
  delegator: Delegator,
): Promise<ReadonlyMap<number, StepRecord>> {
  const records: StepRecord[] = plan.steps.map(() => ({ tries: 0 }));
  const found = new Map<number, StepRecord>();
  const dependents = plan.steps.map((): number[] => []);
  const missing = plan.steps.map(({ dependsOn }) => dependsOn.length);
  for (const [place, { dependsOn }] of plan.steps.entries()) {
    for (const each of dependsOn) dependents[each]?.push(place);
  }
  const ready = [...plan.steps.keys()].filter((place) => missing[place] === 0);
  for (let place = ready.shift(); place !== undefined; place = ready.shift()) {
    const record = await earlierStep(plan, place, records, delegator);
    if (record === undefined) continue;
    records[place] = record;
    found.set(place, record);
    for (const dependent of dependents[place] ?? []) {
      const left = (missing[dependent] ?? 0) - 1;
      missing[dependent] = left;
      if (left === 0) ready.push(dependent);
    }
  }
  return found;
}

async function earlierStep(
  plan: Plan,
  place: number,
  records: readonly StepRecord[],
  delegator: Delegator,
): Promise<StepRecord | undefined> {
  const step = plan.steps[place];
  if (step === undefined) return undefined;
  const { joinTokens } = delegator.results;
  const context = stepContext(plan, step, records, joinTokens);
  const result = await delegator.plans.earlier(step.id, stepRequest(step, context));
  if (result === undefined) return undefined;
  const record = { tries: 1, result, isEarlier: true } as const;
  if (step.reviewer === null) return record;
  const about = { ...stepReview(plan, step, result, joinTokens), profile: step.reviewer };
  const review = await delegator.plans.earlier(`${step.id}-review`, about);
  return review === undefined ? record : { ...record, review: { result: review } };
}

function questionAbout(plan: Plan): string {
  return `May this plan begin? (yes or no)\n${describePlan(plan)}`;
}

const [notInTime, notApproved] = [
  "Error: no person approved the plan in time, so nothing was started.",
  "Error: the plan was not approved, and nothing was started.",
];

/** Why a plan may not begin: only a clear yes of a person approves. Any other answer goes to the model. */
function objectionIn(outcome: AskOutcome): string | undefined {
  if (!outcome.answered || outcome.by !== "person") return notInTime;
  if (consentIn(outcome.answer) === "yes") return undefined;
  return `${notApproved} The person says: ${outcome.answer.trim()}`;
}

/** All of a plan, as a person reads it who is asked whether it may begin. The same text every time. */
function describePlan({ goal, steps }: Plan): string {
  return [
    ...(goal === null ? [] : [`Goal: ${indented(goal)}`]),
    ...steps.flatMap((step, place) => linesOf(step, place, steps)),
  ].join("\n");
}

/** Only its first line begins a line: no other can pass for a step, or for a change. */
function indented(text: string): string {
  return revealHidden(text).replaceAll("\n", "\n   ");
}

function linesOf(step: PlanStep, place: number, steps: readonly PlanStep[]): string[] {
  const { dependsOn, description, id, owns, profile, reviewer, successCriteria, title } = step;
  const after = dependsOn.map((each) => steps[each]?.id ?? "");
  const head = [
    `${place + 1}. ${id}: ${indented(title)} [${profile}]`,
    ...(owns.length > 0 ? [`owns ${indented(owns.join(", "))}`] : []),
    ...(after.length > 0 ? [`after ${indented(after.join(", "))}`] : []),
    ...(reviewer === null ? [] : [`reviewed by ${reviewer}`]),
  ].join("; ");
  const body = [description, ...successCriteria.map((criterion) => `- ${criterion}`)]
    .filter((text) => text !== "" && text !== title)
    .map((text) => revealHidden(text).replaceAll(/^/gm, "   "));
  return [head, ...body];
}
