/** For tests: the product with a provider on loopback, and profiles that fake agent programs work on. */
import { expect } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import { defaultConfig } from "../../control/config.ts";
import { replayAgain } from "../../delegations/replay/replay-again.test-support.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { RunRequest } from "../../ports/delegator.ts";
import {
  type EngineOptions,
  type FinishedRun,
  openEngine,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { environmentFor, MockProvider } from "../../testing/mock-provider.test-support.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import { type FakeOptions, type FakeScript, fakeAgent } from "./fake-agent.test-support.ts";

export const machine = detectSandbox(process.env);

/** Part of a title, so that a summary says why tests were left out. */
export const whySkipped = machine.isUsable ? "" : ` (skipped: ${machine.problem})`;

/** What an agent program may do by itself, and what it gets from us. */
const tools = [
  ...["read_file", "list_files", "glob", "grep", "write_file", "edit_file", "shell"],
  ...["delegate_task", "send_message", "get_delegation_result", "ask_user"],
];

const model = "anthropic/claude-sonnet-4-5";

/** A profile that a fake program works on. */
export function programProfile(
  script: FakeScript,
  { fake, name = "program", ...fields }: Partial<Profile> & { readonly fake?: FakeOptions } = {},
): Profile {
  return testProfile(name, {
    capabilities: ["primary", "subtask"],
    ...{ tools, model: { model }, runner: fakeAgent(script, fake) },
    ...fields,
  });
}

export interface ProgramScene extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly provider: MockProvider;
  /** For another process on the same home. */
  readonly options: EngineOptions;
  run(request?: Partial<RunRequest>): Promise<FinishedRun>;
}

export async function openPrograms(
  profiles: readonly Profile[],
  more: EngineOptions = {},
): Promise<ProgramScene> {
  const provider = new MockProvider();
  await provider.start();
  const options: EngineOptions = {
    profiles,
    ...more,
    config: { models: defaultConfig.models, ...more.config },
    environment: {
      ...environmentFor(provider),
      PATH: process.env["PATH"] ?? "",
      ...more.environment,
    },
  };
  const engine = await openEngine(options);
  initRepository(engine.workspace, { "a.txt": "a\n" });
  return {
    ...{ engine, provider, options },
    run: (request = {}) =>
      engine.run({
        ...{ task: "go", profile: profiles[0]?.name ?? "", workspace: engine.workspace },
        ...request,
      }),
    async [Symbol.asyncDispose]() {
      try {
        // Another engine has the home of one that was ended for a crash.
        const runs = await engine.store.listRuns({}).catch(() => []);
        for (const { id, outcome } of runs) {
          if (outcome === null) continue;
          expect((await replayAgain(engine.store, id)).differences).toEqual([]);
        }
        await engine[Symbol.asyncDispose]();
      } finally {
        provider.close();
      }
    },
  };
}

/** What a program said and was answered, by its log. */
export function reportsOf(events: readonly StoredEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "agent.program_started") return [`started ${event.payload.program}`];
    if (event.type === "agent.program_answered") return [`answered ${event.payload.text}`];
    if (event.type !== "agent.program_reported") return [];
    const { payload: report } = event;
    if (report.what === "text") return [`said ${report.text}`];
    if (report.what === "plan") return ["planned"];
    return report.outcome === "begun" ? [] : [`called ${report.title}`];
  });
}
