import { z } from "zod";
import {
  describeOfferedAgents,
  describeOfferedProfiles,
} from "../../../application/summarize-profile.ts";
import type { Runtime } from "../../../runtime.ts";
import type { McpTool } from "../mcp-tool.ts";
import { delegationResult, saidResult, startedJob, subagentStatus } from "./output-schemas.ts";
import {
  type MadeCall,
  type RunningJob,
  type SessionToolOptions,
  sessionTool,
} from "./session-tool.ts";

/** A sub-agent may write, execute and use the network, within its contract. */
const delegating: McpTool["annotations"] = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

const limit =
  "Waits for the end; after 50 seconds it may return status running, and the work continues";

/** The advice for longer work, with the tools of this runtime. */
function blockingWith(has: (tool: string) => boolean): string {
  if (has("spawn")) return `${limit}. For longer work call spawn, then spawn_await.`;
  if (has("spawn_subagent"))
    return `${limit}. For longer work call spawn_subagent with returnMode background, then get_delegation_result with wait_ms.`;
  return `${limit}.`;
}

/** The delegating tools of this runtime. */
export function delegatingTools(runtime: Runtime): readonly McpTool[] {
  const { profiles, toolbox } = runtime;
  const names = profiles.offered().map(({ name }) => name);
  const whom = describeOfferedProfiles(runtime);
  const agents = describeOfferedAgents(runtime);
  const has = (name: string): boolean => toolbox.get(name) !== undefined;
  const blocking = blockingWith(has);
  const collecting = has("spawn_await")
    ? "get_delegation_result (with wait_ms) or spawn_await give its result"
    : "get_delegation_result gives its result, and waits for it with wait_ms";
  const offered = <Output extends object>(
    name: string,
    options: SessionToolOptions<Output>,
  ): readonly McpTool[] => {
    const tool = toolbox.get(name);
    return tool === undefined ? [] : [sessionTool(tool, { ...options, delegates: true })];
  };
  return [
    ...offered("delegate_task", {
      title: "Delegate a task and wait",
      description: paragraphs(
        `Delegate a task to a sub-agent and wait for its result. It works in its own context, under a contract that is enforced, and sees only the task and the context you give. ${blocking}`,
        whom,
      ),
      shown: { profile: profileSchema(names).describe("Who does it.") },
      output: delegationResult,
      annotations: delegating,
      structure: ({ text }) => delegationResult.parse(JSON.parse(text)),
      running: ({ sentence: result, ...job }) => ({ ...job, status: "running", result }),
    }),
    ...offered("spawn", {
      title: "Start a sub-agent in the background",
      description: paragraphs(
        "Start a sub-agent in the background and get its job id at once. Spawn several for independent work, then wait with spawn_await.",
        whom,
      ),
      output: startedJob,
      annotations: delegating,
      structure: ({ text }) => ({ job_id: text }),
    }),
    ...offered("spawn_subagent", {
      title: "Start a sub-agent, waiting or not",
      description: `Start a sub-agent on a task. returnMode background: return at once; ${collecting}. returnMode blocking, which is the default: wait for its summary. ${blocking}`,
      output: subagentStatus,
      annotations: delegating,
      structure: ({ text }) => subagentStatus.parse(JSON.parse(text)),
      running: ({ delegationId: sessionId, sentence: summary }) =>
        subagentStatus.parse({ mode: "blocking", sessionId, status: "running", summary }),
    }),
    ...offered("request_review", {
      title: "Request a review of changes",
      agent: "reviewer",
      description: `Let a reviewer look at changes, read-only, and wait for its verdict. Name paths, a range of commits (main..HEAD), or nothing for uncommitted changes. ${blocking}`,
      output: saidResult,
      annotations: delegating,
      structure: describeSaid,
      running: describeRunning,
    }),
    ...offered("delegate_to_agent", {
      title: "Delegate to a registered agent and wait",
      description: paragraphs(
        `Delegate a task to a registered agent and wait for its result. Each runs on its own profile, whatever you ask for. ${blocking}`,
        agents === "" ? "No agent is registered at the moment." : agents,
      ),
      output: saidResult,
      annotations: delegating,
      structure: describeSaid,
      running: describeRunning,
    }),
  ];
}

function profileSchema([first, ...others]: readonly string[]): z.ZodType<string> {
  return first === undefined ? z.string() : z.enum([first, ...others]);
}

async function describeSaid({
  context,
  made,
  text,
}: MadeCall): Promise<z.output<typeof saidResult>> {
  const id = made.at(-1);
  if (id === undefined) return { text };
  const result = await context.session.runtime.engine.resultOf(id);
  return { delegationId: id, ...(result && { status: result.status }), text };
}

function describeRunning({ delegationId, sentence }: RunningJob): z.output<typeof saidResult> {
  return { delegationId, status: "running", text: `[${delegationId}: RUNNING] ${sentence}` };
}

function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}
