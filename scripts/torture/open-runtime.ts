import { defaultConfig } from "../../src/control/config.ts";
import { scriptedModel } from "../../src/models/scripted/scripted-model.ts";
import { createRuntime, type Runtime } from "../../src/runtime.ts";
import { appendLine } from "./append-line.ts";
import { profiles } from "./cast.ts";
import { environmentOf } from "./environment-of.ts";
import type { Job } from "./job.ts";
import { scriptFor } from "./script.ts";

/** The product as it is, on the scripted model, with limits that many kills do not reach. */
export function openRuntime(job: Job): Promise<Runtime> {
  const { agents, tools, ...rest } = defaultConfig;
  return createRuntime({
    consent: "named",
    environment: environmentOf(job),
    cwd: job.workspace,
    config: {
      ...rest,
      agents: {
        delegation: { ...agents.delegation, profiles: { directory: `${job.home}/agents` } },
      },
      tools: {
        ...tools,
        spawn: { ...tools.spawn, enabled: true },
        // What is looked for here are processes that outlive their agent, not walls around them.
        shell: { ...tools.shell, unsandboxed: true },
      },
      profiles: [],
      files: [],
    },
    synchronous: job.synchronous,
    scripted: scriptedModel(scriptFor(job)),
    profiles: profiles(),
    tools: [appendLine],
    application: "torture",
    // Fewer slots than children: some wait in the queue whenever it happens.
    maxConcurrent: 3,
    limits: {
      requestTries: 2,
      backoffMs: 10,
      askDeadlineMs: 100,
      askDefault: "blue",
      maxChildren: 1000,
      runTokens: 1e9,
      maxTokens: 1e9,
      defaultTokens: 1e7,
    },
  });
}
