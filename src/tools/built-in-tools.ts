import type { Config } from "../control/config.ts";
import type { SkillRegistry } from "../skills/skill.ts";
import { delegateTaskTool } from "./delegation/delegate-task.ts";
import { delegateToAgentTool } from "./delegation/delegate-to-agent.ts";
import { askUserTool, completeTaskTool, submitForReviewTool } from "./delegation/leave.ts";
import {
  cancelDelegationTool,
  getDelegationResultTool,
  listSubAgentsTool,
} from "./delegation/oversee.ts";
import { peekResultTool, searchResultTool, sliceResultTool } from "./delegation/read-result.ts";
import { spawnTool } from "./delegation/spawn.ts";
import { spawnAwaitTool } from "./delegation/spawn-await.ts";
import { documentQuery } from "./documents/document-query.ts";
import { editFile } from "./files/edit-file.ts";
import { globFiles } from "./files/glob-files.ts";
import { grepFiles } from "./files/grep-files.ts";
import { listFiles } from "./files/list-files.ts";
import { readFile } from "./files/read-file.ts";
import { writeFile } from "./files/write-file.ts";
import { loadSkillTool } from "./skills/load-skill.ts";
import type { Tool } from "./tool.ts";
import { createSearchTools } from "./web/search-tools.ts";
import { createWebFetch } from "./web/web-fetch.ts";

/** Those that our own agents are not given unless the operator says so. */
export const optInTools: ReadonlySet<string> = new Set(["spawn", "spawn_await"]);

/** What tools need to know of the rest of the product. */
export interface ToolSources {
  /** Where search services are named. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly profileNames: () => readonly string[];
  /** Null where there is no place for any. */
  readonly skills: SkillRegistry | null;
}

/** The tools that come with the product, as far as the operator left them switched on. */
export function builtInTools(
  config: Config,
  { environment, profileNames, skills }: ToolSources,
): readonly Tool[] {
  const delegation = config.agents.delegation.enabled;
  // Unless it is switched off, other programs' agents get it; ours only when it is switched on.
  const spawn = config.tools.spawn.enabled !== false;
  return [
    readFile,
    writeFile,
    editFile,
    listFiles,
    globFiles,
    grepFiles,
    documentQuery,
    createWebFetch({ allowPrivate: config.network.allowPrivate }),
    ...createSearchTools(environment),
    completeTaskTool,
    submitForReviewTool,
    askUserTool,
    ...(skills === null ? [] : [loadSkillTool(skills)]),
    ...(delegation ? [delegateTaskTool, delegateToAgentTool] : []),
    ...(spawn ? [spawnTool(profileNames), spawnAwaitTool] : []),
    ...(delegation || spawn
      ? [
          listSubAgentsTool,
          getDelegationResultTool,
          cancelDelegationTool,
          peekResultTool,
          searchResultTool,
          sliceResultTool,
        ]
      : []),
  ];
}
