import type { Agent } from "../../delegations/agent.ts";
import type { EngineLimits, EngineParts } from "../../delegations/engine-parts.ts";
import { compose, type Middleware } from "../../delegations/middleware.ts";
import { systemClock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { Course } from "./course.ts";
import { RecordedModel, recordedTries } from "./recorded-model.ts";
import { recordedServers } from "./recorded-servers.ts";
import { RecordedTools } from "./recorded-tools.ts";
import type { Recording } from "./recording.ts";
import { recordedCopies } from "./replay-copies.ts";
import { ReplayToolbox } from "./replay-toolbox.ts";

export interface ReplayPartsOptions {
  readonly store: Store;
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): Agent | undefined;
  makeChild(id: string): void;
  /** Around everybody's life, from the first slot or from where it was taken up. */
  readonly live: NonNullable<Middleware["delegation"]>;
  readonly scheduler: EngineParts["scheduler"];
  /** By delegation: the size of what its model was shown of its tools. */
  readonly toolTokens: ReadonlyMap<string, number>;
}

/** The engine's parts, none of which knows anything but the recording. */
export function replayParts(options: ReplayPartsOptions): EngineParts {
  const { recording, store } = options;
  const model = new RecordedModel(options);
  const tools = new RecordedTools(options);
  const copies = recordedCopies(recording);
  return {
    store,
    models: model,
    profiles: {
      get: () => undefined,
      layersOf: () => [],
      names: () => [],
      offered: () => [],
      problemOf: () => undefined,
    },
    agents: {
      entry: () => undefined,
      all: () => [],
      refresh: () => undefined,
      pinned: async () => undefined,
    },
    // Nothing begins in a replay, and no folder is opened.
    consentTo: async () => "read-only",
    skills: { all: () => [] },
    servers: recordedServers(recording),
    copies: async () => copies,
    hasCopies: () => false,
    worktrees: "",
    checksFor: () => async () => ({ passed: true }),
    release: endAgain(options),
    endStrays: async () => undefined,
    // The log that is replayed has all ends that there were.
    unwritten: { add: () => undefined },
    toolbox: new ReplayToolbox(options, tools),
    middleware: compose([{ turn: model.turn, call: tools.call, delegation: options.live }]),
    clock: systemClock,
    scheduler: options.scheduler,
    limits: limitsOf(recording),
    application: recording.started.application,
    forbidden: [],
    guarded: guardedIn(recording),
    isProtected: () => false,
  };
}

/**
 * Everybody waits here before they end, until they ended. The first to end a delegation that was
 * overtaken is itself, and comes too late.
 */
function endAgain({ course, find }: ReplayPartsOptions): EngineParts["release"] {
  const overtaken = new Set<string>();
  return async (id) => {
    const agent = find(id);
    // Who comes to rest does not end yet.
    if (course.hasStrayed(id) || agent?.isParked) return;
    const isStopped = (agent?.stopReason ?? null) !== null;
    if (course.isOvertaken(id) && !isStopped && !overtaken.has(id)) {
      overtaken.add(id);
      await new Promise(() => undefined);
    }
    if (!isStopped) await course.when(course.endOf(id));
  };
}

const longest = 2 ** 31 - 1;

/** Limits that were kept are in the log; those that are asked again are read from it. */
function limitsOf(recording: Recording): EngineLimits {
  return {
    maxDepth: longest,
    defaultTokens: longest,
    maxTokens: longest,
    defaultTimeMs: longest,
    allowsModel: () => true,
    spawningTools: new Set(),
    servers: [],
    serverPattern: () => "",
    explicitTools: "select",
    runTokens: longest,
    runTimeMs: longest,
    maxChildren: longest,
    maxOutputTokens: longest,
    maxRetries: 0,
    joinTokens: longest,
    askDeadlineMs: longest,
    askDefault: defaultAnswer(recording),
    deadlines: { firstTokenMs: longest, stallMs: longest, toolMs: longest, idleMs: longest },
    watchIntervalMs: 0,
    requestTries: recordedTries(recording),
    backoffMs: 0,
    maxBackoffMs: 0,
    toolOutputBytes: Number.POSITIVE_INFINITY,
    reportPathPattern: null,
    checks: [],
    approval: false,
    onUnknownProfile: null,
  };
}

function defaultAnswer({ events }: Recording): string | null {
  const asked = events.find(
    ({ payload, type }) => type === "agent.asked" && payload.kind === undefined,
  );
  return asked?.type === "agent.asked" ? asked.payload.default : null;
}

/** Paths that were refused as configuration when somebody had changed them. */
function guardedIn({ delegations }: Recording): readonly string[] {
  return [...delegations.values()].flatMap(({ contract, events }) => {
    const failed = events.find((event) => event.type === "agent.subagent_failed");
    const closed = events.find((event) => event.type === "agent.subagent_closed");
    const error = failed?.payload.error ?? "";
    if (!error.includes("which is configuration that the next start obeys")) return [];
    const paths = closed?.payload.seal.files?.map(({ path }) => path) ?? [];
    return paths
      .filter((path) => error.includes(JSON.stringify(path)))
      .map((path) => `${contract.workspace.copy?.of ?? ""}/${path}`);
  });
}
