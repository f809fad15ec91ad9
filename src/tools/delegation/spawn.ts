import { z } from "zod";
import { commaList, namesIn } from "../../agents/documents/tool-input.ts";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { DelegationResult, Delegator } from "../../ports/delegator.ts";
import { defineTool, type Tool } from "../tool.ts";
import {
  aboutTranscript,
  childTool,
  delegateAbout,
  fitResult,
  longestMs,
  refusedStart,
  taskAliases,
} from "./delegation-call.ts";

/** `profile` lists the names on offer; without any each text is accepted, and refused later. */
export function spawnTool(offered: () => readonly Profile[]): Tool {
  let known: { readonly profiles: readonly Profile[]; readonly shown: z.ZodType } | undefined;
  return defineTool({
    name: "spawn",
    description:
      "Start a sub-agent in the background and get its job id at once. Spawn several for independent work.",
    alongside: { spawn_await: "Then wait with spawn_await." },
    ...childTool,
    choosesFrom: "profiles",
    aliases: taskAliases({ profile: "profile", task: "task" }),
    // What is missing or unknown is answered by the tool itself, in its own words.
    input: z.strictObject({
      ...fields,
      task: z.string().optional(),
      profile: z.string().optional(),
    }),
    about: ({ profile }, context) => delegateAbout(profile ?? "", context),
    /** The registry returns the same list until a profile changes. */
    get shown() {
      const profiles = offered();
      if (known?.profiles !== profiles) known = { profiles, shown: shownFor(profiles) };
      return known.shown;
    },
    async execute(input, { delegator }) {
      const task = input.task?.trim() ?? "";
      if (task === "") return { text: "Error: task is required", isError: true };
      const outcome = await delegator.start(
        {
          task,
          profile: input.profile,
          context: input.context,
          systemPrompt: input.system_prompt,
          tools: input.tools === undefined ? undefined : selected(input.tools),
        },
        "spawn",
      );
      if (outcome.started) return outcome.delegationId;
      return refusedStart(outcome);
    },
  });
}

/** Every model pays for a list of names: beyond this many the names are for list_profiles. */
const mostNames = 100;

function shownFor(profiles: readonly Profile[]): z.ZodType {
  const [first, ...others] = profiles.length > mostNames ? [] : profiles.map(({ name }) => name);
  const profile = first === undefined ? z.string() : z.enum([first, ...others]);
  return z.strictObject({
    task: z.string().describe("The task, complete in itself."),
    profile: profile.optional().describe("The sub-agent's profile."),
    ...fields,
  });
}

const fields = {
  context: z.string().optional().describe("Facts that the task needs."),
  system_prompt: z.string().optional().describe("Instructions in place of the profile's own."),
  tools: commaList.optional().describe("Tools among those of the profile, with commas."),
};

/** Undefined for a text without a name, which asks for no tools in particular; `[]` means none. */
function selected(given: string | readonly string[]): readonly string[] | undefined {
  const names = namesIn(given);
  return names.length === 0 && typeof given === "string" ? undefined : names;
}

const maxWait = z
  .int()
  .min(1)
  .max(longestMs)
  .optional()
  .describe("Milliseconds after which it returns with what is done.");

export const spawnAwaitTool = defineTool({
  name: "spawn_await",
  description:
    "Wait for spawned jobs and get their results. Results stay retrievable; failed jobs are marked in the text.",
  ...childTool,
  polls: "results",
  waits: true,
  // A missing argument is answered by the tool itself, in its own words.
  input: z.strictObject({ job_ids: commaList.optional(), max_wait_ms: maxWait }),
  aliases: {
    job_id: "job_ids",
    id: "job_ids",
    ids: "job_ids",
    delegation_id: "job_ids",
    delegation_ids: "job_ids",
    session_id: "job_ids",
    wait_ms: "max_wait_ms",
  },
  shown: z.strictObject({
    job_ids: commaList.describe("Job ids with commas, or * for all jobs not yet awaited."),
    max_wait_ms: maxWait,
  }),
  async execute(input, { delegator }) {
    const asked = [...new Set(namesIn(input.job_ids))];
    if (asked.length === 0) return { text: "Error: job_ids is required", isError: true };
    const isAll = asked.length === 1 && asked[0] === "*";
    const ids = isAll ? await delegator.results.notYetJoined() : asked;
    if (ids.length === 0) return "No jobs found.";
    const own = await Promise.all(ids.map((id) => delegator.isMine(id)));
    const mine = ids.filter((_, index) => own[index]);
    const results = await delegator.results.join(mine, input.max_wait_ms);
    delegator.results.delivered(mine.filter((id) => results.get(id) !== null));
    const share = Math.floor(delegator.results.joinTokens / ids.length);
    return ids.map((id) => block(id, results.get(id), { tokens: share, delegator })).join("\n\n");
  },
});

interface Room {
  readonly tokens: number;
  readonly delegator: Delegator;
}

function block(
  id: string,
  result: DelegationResult | null | undefined,
  { delegator, tokens }: Room,
): string {
  if (result === undefined) return `[${id}: NOT FOUND]`;
  if (result === null) return `[${id}: RUNNING] Call spawn_await again to wait for it.`;
  const text = [fitResult(result, tokens), ...aboutTranscript(result, delegator.results)].join(
    "\n",
  );
  return result.status === "completed" ? `[${id}: OK]\n${text}` : `[${id}: ERROR]\n${text}`;
}

/** One tool for both ways: wait for the sub-agent, or let it work and look later. */
export const spawnSubagentTool = defineTool({
  name: "spawn_subagent",
  description:
    "Start a sub-agent on a task. blocking: wait for its summary. background: return at once with its sessionId.",
  alongside: {
    get_delegation_result:
      "Collect the result of a background sub-agent with get_delegation_result: its sessionId is the delegationId, and wait_ms waits for the end.",
  },
  ...childTool,
  describesChildren: true,
  waits: true,
  about: ({ agentId }, context) => delegateAbout(agentId, context),
  aliases: taskAliases({ profile: "agentId", task: "prompt" }),
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("A profile's name, or a handle such as @writer."),
    prompt: z.string().min(1).describe("The task, complete in itself."),
    capability: z.literal("subtask").optional().describe("Always subtask; may be left out."),
    returnMode: z
      .enum(["blocking", "background"])
      .optional()
      .describe("blocking, the default, waits; background returns at once."),
  }),
  async execute({ agentId, prompt, returnMode = "blocking" }, { delegator }) {
    const isBlocking = returnMode === "blocking";
    const outcome = await delegator.start(
      { profile: agentId, task: prompt },
      isBlocking ? "delegate" : "spawn",
    );
    if (!outcome.started) {
      const refusal = { mode: returnMode, status: "refused", error: outcome.reason };
      return refusedStart(outcome, JSON.stringify(refusal));
    }
    const sessionId = outcome.delegationId;
    if (!isBlocking) return JSON.stringify({ mode: returnMode, sessionId, status: "running" });
    return delegator.results.joinAndComplete(sessionId, (result) => ({
      text: describe(result, delegator.results.joinTokens),
      ...(result.status !== "completed" && { isError: true }),
    }));
  },
});

function describe(result: DelegationResult, tokens: number): string {
  const said = fitResult(result, tokens);
  const { closeReason, delegationId: sessionId, status } = result;
  const ended =
    status === "completed" ? { status, summary: said } : { status, closeReason, error: said };
  return JSON.stringify({ mode: "blocking", sessionId, ...ended });
}
