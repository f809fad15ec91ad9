import { z } from "zod";
import { describeOfferedAgents } from "../../../application/summarize-profile.ts";
import type { Runtime } from "../../../runtime.ts";
import { printableLine } from "../../cli/printable.ts";
import type { McpTool } from "../mcp-tool.ts";
import {
  delegationResult,
  saidResult,
  startedJob,
  startedWorkflow,
  subagentStatus,
} from "./output-schemas.ts";
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

/** For as long as the reviewer has nothing but tools that read. */
const readOnly: McpTool["annotations"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

const reviewer = "reviewer";

/** The advice for longer work, with the tools of this runtime. */
function blockingWith(has: (tool: string) => boolean): string {
  const long = has("spawn")
    ? "spawn, then spawn_await"
    : "spawn_subagent with returnMode background";
  const limit = "After 50 seconds it may return status running, and the work continues.";
  return has("spawn") || has("spawn_subagent") ? `${limit} For long work call ${long}.` : limit;
}

/** The delegating tools of this runtime. */
export function delegatingTools(runtime: Runtime): readonly McpTool[] {
  const { profiles, toolbox } = runtime;
  const names = profiles.offered().map(({ name }) => name);
  const agents = describeOfferedAgents(runtime);
  const has = (name: string): boolean => toolbox.get(name) !== undefined;
  const blocking = blockingWith(has);
  const profile = z.string().describe(`The sub-agent's profile: ${namesFor(names)}`);
  const offered = <Output extends object>(
    name: string,
    options: SessionToolOptions<Output>,
  ): readonly McpTool[] => {
    const tool = toolbox.get(name);
    return tool === undefined ? [] : [sessionTool(tool, { ...options, delegates: true })];
  };
  return [
    ...offered("delegate_task", {
      title: "Delegate a task to a Mandate sub-agent",
      description: `Delegate a task to a Mandate sub-agent and wait for its result: ask another agent to research, write, change or check something. It works in its own context, under a contract that code enforces, and sees only the task and the context you pass. ${blocking}`,
      shown: { profile },
      output: delegationResult,
      annotations: delegating,
      structure: ({ text }) => delegationResult.parse(JSON.parse(text)),
      running: ({ sentence: result, ...job }) => ({ ...job, status: "running", result }),
    }),
    ...offered("spawn", {
      title: "Spawn a sub-agent in the background",
      description:
        "Spawn a sub-agent in the background and get its job id. Spawn several agents to work in parallel, then collect their results with spawn_await.",
      shown: { profile: profile.optional() },
      output: startedJob,
      annotations: delegating,
      structure: ({ text }) => ({ job_id: text, next: "Call spawn_await with this id." }),
    }),
    ...offered("spawn_subagent", {
      title: "Start a sub-agent, waiting or not",
      description:
        "Start a sub-agent on a task. returnMode blocking (default) waits for its summary; background returns its id at once for get_delegation_result.",
      output: subagentStatus,
      annotations: delegating,
      structure: ({ text }) => subagentStatus.parse(JSON.parse(text)),
      running: ({ delegationId: sessionId, sentence: summary }) =>
        subagentStatus.parse({ mode: "blocking", sessionId, status: "running", summary }),
    }),
    ...offered("run_workflow", {
      title: "Start a workflow script in the background",
      output: startedWorkflow,
      annotations: delegating,
      structure: ({ text }) => startedWorkflow.parse(JSON.parse(text)),
    }),
    ...offered("request_review", {
      title: "Run a reviewer over changes",
      agent: reviewer,
      description:
        "Run a read-only reviewer over changes and wait for its verdict. Name paths, a range of commits (main..HEAD), or nothing for uncommitted changes.",
      output: saidResult,
      annotations: isReadOnly(runtime, reviewer) ? readOnly : delegating,
      structure: describeSaid,
      running: describeRunning,
    }),
    ...(agents === "" ? [] : registeredAgentTool()),
  ];

  function registeredAgentTool(): readonly McpTool[] {
    return offered("delegate_to_agent", {
      title: "Delegate to a registered agent and wait",
      description:
        "Delegate a task to a registered agent and wait for its result. Each runs on its own profile.",
      shown: { agentId: z.string().describe(`The agent's handle. ${agents}`) },
      output: saidResult,
      annotations: delegating,
      structure: describeSaid,
      running: describeRunning,
    });
  }
}

const mostNames = 16;

/** Short lists are complete; clients that validate would refuse other names of a schema's enum. */
function namesFor(names: readonly string[]): string {
  const shown = names.slice(0, mostNames).map((name) => printableLine(name).slice(0, 64));
  const more = names.length > shown.length ? "…" : "";
  return `${shown.join(", ")}${more}. list_profiles describes them.`;
}

/** A person's own layer may give the profile more than the shipped one has. */
function isReadOnly({ profiles, toolbox }: Runtime, name: string): boolean {
  const { mcpServers = [], tools, workspace } = profiles.get(name) ?? {};
  if (tools === undefined || tools === "*" || workspace?.allowWrites !== false) return false;
  // A tool that this runtime does not have is not granted; a server's tool is not known here.
  return (
    mcpServers.length === 0 &&
    tools.every(
      (tool) => !tool.startsWith("mcp__") && (toolbox.get(tool)?.effect ?? "read") === "read",
    )
  );
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
