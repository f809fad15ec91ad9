import type { Profile } from "../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { SkillRegistry } from "../agents/skills/skill.ts";
import type { Config } from "../control/config.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { delegateTaskTool, delegateToAgentTool } from "./delegation/delegate-task.ts";
import { askUserTool, completeTaskTool, submitForReviewTool } from "./delegation/leave.ts";
import { listProfilesTool } from "./delegation/list-profiles.ts";
import {
  cancelDelegationTool,
  getDelegationResultTool,
  interjectTool,
  listSubAgentsTool,
  sendMessageTool,
} from "./delegation/oversee.ts";
import { peekResultTool, searchResultTool, sliceResultTool } from "./delegation/read-result.ts";
import { requestReviewTool } from "./delegation/review.ts";
import { spawnAwaitTool, spawnSubagentTool, spawnTool } from "./delegation/spawn.ts";
import { createDocumentQuery } from "./documents/document-query.ts";
import { editFile } from "./files/edit-file.ts";
import { globFiles } from "./files/glob-files.ts";
import { createGrepFiles } from "./files/grep-files.ts";
import { listFiles } from "./files/list-files.ts";
import { readFile } from "./files/read-file.ts";
import { writeFile } from "./files/write-file.ts";
import { secretsOf } from "./memory/clean-memory.ts";
import { memoryLoadTool } from "./memory/memory-load.ts";
import { type MemorySources, memorySaveTool } from "./memory/memory-save.ts";
import { submitPlanTool } from "./plan/submit-plan.ts";
import { loadSkillTool } from "./skills/load-skill.ts";
import type { Tool } from "./tool.ts";
import { createSearchTools } from "./web/search-tools.ts";
import { createWebFetch } from "./web/web-fetch.ts";
import { performWorkflowTool } from "./workflow/perform-workflow.ts";
import { runWorkflowTool } from "./workflow/run-workflow.ts";
import type { WorkflowSource } from "./workflow/workflow-source.ts";

/** Tools that Mandate's own agents get only where the operator enables them. */
export const optInTools: ReadonlySet<string> = new Set(["spawn", "spawn_await"]);

/** What tools need to know of the rest of the product. */
export interface ToolSources {
  /** Where search services are named. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absent: nothing is offered, and there are no plans. */
  readonly profiles?: ProfileRegistry;
  /** Null where there is no place for any. */
  readonly skills: SkillRegistry | null;
  /** Where memories are kept; absent: agents have none. */
  readonly memories?: MemorySources;
  readonly clock?: Clock;
  /** Absent: there are no workflow scripts. */
  readonly workflows?: WorkflowSource;
}

const none: readonly Profile[] = [];

/** The tools that come with the product, as far as the operator left them switched on. */
export function builtInTools(
  config: Config,
  { clock = systemClock, environment, memories, profiles, skills, workflows }: ToolSources,
): readonly Tool[] {
  const delegation = config.agents.delegation.enabled;
  const offered = (): readonly Profile[] => profiles?.offered() ?? none;
  // Offered to other programs' agents unless disabled; to our own agents only when enabled.
  const spawn = config.tools.spawn.enabled !== false;
  return [
    readFile,
    writeFile,
    editFile,
    listFiles,
    globFiles,
    createGrepFiles(clock),
    createDocumentQuery(clock),
    createWebFetch({ allowPrivate: config.network.allowPrivate, clock }),
    ...createSearchTools(environment, { clock }),
    completeTaskTool,
    submitForReviewTool,
    askUserTool,
    interjectTool,
    ...(memories === undefined ? [] : memoryTools(config, memories, environment)),
    ...(skills === null ? [] : [loadSkillTool(skills)]),
    ...(delegation
      ? [delegateTaskTool, delegateToAgentTool, spawnSubagentTool, requestReviewTool]
      : []),
    ...(delegation && profiles ? [planToolOf(config, profiles)] : []),
    ...(delegation && workflows ? workflowTools(config, workflows, clock) : []),
    ...(spawn ? [spawnTool(offered), spawnAwaitTool] : []),
    ...(delegation || spawn
      ? [
          listProfilesTool({ offered }),
          listSubAgentsTool,
          getDelegationResultTool,
          cancelDelegationTool,
          sendMessageTool,
          peekResultTool,
          searchResultTool,
          sliceResultTool,
        ]
      : []),
  ];
}

function memoryTools(
  { agents }: Config,
  store: MemorySources,
  environment: ToolSources["environment"],
): readonly Tool[] {
  const { brainWriteScope: scope } = agents.delegation.context;
  const load = memoryLoadTool(store);
  if (scope === "none") return [load];
  return [load, memorySaveTool({ store, scope, secrets: secretsOf(environment) })];
}

function workflowTools(
  { agents }: Config,
  workflows: WorkflowSource,
  clock: Clock,
): readonly Tool[] {
  const { maxConcurrent } = agents.delegation;
  return [performWorkflowTool({ workflows, clock, maxConcurrent }), runWorkflowTool(workflows)];
}

function planToolOf({ agents, execution, limits }: Config, profiles: ProfileRegistry): Tool {
  const { maxConcurrent } = agents.delegation;
  const { attemptTimeoutMs } = execution;
  const { maxChildren } = limits;
  return submitPlanTool({ profiles, maxConcurrent, maxChildren, attemptTimeoutMs });
}
