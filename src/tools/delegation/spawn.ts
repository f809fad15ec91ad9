import { z } from "zod";
import type { DelegationResult, Delegator } from "../../ports/delegator.ts";
import { defineTool, type Tool } from "../tool.ts";
import {
  aboutTranscript,
  childTool,
  delegateAbout,
  fitResult,
  refusedStart,
} from "./delegation-call.ts";

/** `profile` lists the configured names; with none configured any string is accepted, and refused later. */
export function spawnTool(profileNames: () => readonly string[]): Tool {
  let known: { readonly names: string; readonly shown: z.ZodType } | undefined;
  return defineTool({
    name: "spawn",
    description:
      "Start a sub-agent in the background and get its job id at once. Spawn several for independent work.",
    alongside: { spawn_await: "Then wait with spawn_await." },
    ...childTool,
    choosesFrom: "profiles",
    // What is missing or unknown is answered by the tool itself, in its own words.
    input: z.strictObject({
      ...fields,
      task: z.string().optional(),
      profile: z.string().optional(),
    }),
    about: ({ profile }, context) => delegateAbout(profile ?? "", context),
    /** Profiles come and go while the process runs; as long as they are the same, so is this. */
    get shown() {
      const names = profileNames();
      const key = names.join(",");
      if (known?.names !== key) known = { names: key, shown: shownFor(names) };
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
          tools: listed(input.tools),
        },
        "spawn",
      );
      if (outcome.started) return outcome.delegationId;
      return refusedStart(outcome);
    },
  });
}

function shownFor([first, ...others]: readonly string[]): z.ZodType {
  const profile = first === undefined ? z.string() : z.enum([first, ...others]);
  return z.strictObject({
    task: z.string().describe("The task. The sub-agent sees nothing else of this conversation."),
    profile: profile.optional().describe("Who does it."),
    ...fields,
  });
}

const fields = {
  context: z.string().optional().describe("What it needs to know in addition to the task."),
  system_prompt: z.string().optional().describe("Instructions in place of the profile's own."),
  tools: z
    .string()
    .optional()
    .describe("Comma-separated names; selects among what the profile allows."),
};

/** Undefined where no name is in it: that asks for no tools in particular. */
function listed(text: string | undefined): readonly string[] | undefined {
  const names = text === undefined ? [] : commaList(text);
  return names.length === 0 ? undefined : names;
}

function commaList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

const maxWait = z
  .int()
  .positive()
  .optional()
  .describe("Return after this time with what is done by then.");

export const spawnAwaitTool = defineTool({
  name: "spawn_await",
  description:
    "Wait for spawned jobs and get their results. Results stay retrievable; failed jobs are marked in the text.",
  ...childTool,
  polls: "results",
  waits: true,
  // A missing argument is answered by the tool itself, in its own words.
  input: z.strictObject({ job_ids: z.string().optional(), max_wait_ms: maxWait }),
  shown: z.strictObject({
    job_ids: z.string().describe("Comma-separated job ids, or * for all jobs not yet awaited."),
    max_wait_ms: maxWait,
  }),
  async execute(input, { delegator }) {
    const asked = input.job_ids?.trim() ?? "";
    if (asked === "") return { text: "Error: job_ids is required", isError: true };
    const ids =
      asked === "*" ? await delegator.results.notYetJoined() : [...new Set(commaList(asked))];
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
  if (result === null) return `[${id}: RUNNING]`;
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
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("A profile's name, or a handle such as @writer."),
    prompt: z.string().min(1).describe("The task. It sees nothing else of this conversation."),
    capability: z.literal("subtask").optional(),
    returnMode: z.enum(["blocking", "background"]).optional().describe("blocking when absent."),
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
