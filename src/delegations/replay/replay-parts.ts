import type { Reminder } from "../../events/cause.ts";
import type { SentMessage, StoredEvent } from "../../events/event.ts";
import { systemClock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { EngineLimits, EngineParts, ServerSource } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { compose, type Middleware } from "../middleware.ts";
import type { Course } from "./course.ts";
import type { RecordedBounds } from "./recorded-bounds.ts";
import { RecordedModel, recordedTries } from "./recorded-model.ts";
import { RecordedTools, ReplayToolbox } from "./recorded-tools.ts";
import type { Recording } from "./recording.ts";
import { recordedCopies } from "./replay-agents.ts";

export interface ReplayPartsOptions {
  readonly store: Store;
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): LiveDelegation | undefined;
  makeChild(id: string): void;
  /** Around everybody's life, from the first slot or from where it was taken up. */
  readonly live: NonNullable<Middleware["delegation"]>;
  readonly scheduler: EngineParts["scheduler"];
  readonly bounds: RecordedBounds;
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
    mailOf: mailAgain(options),
    endsWithAnswer: (id) => endedWithAnswer(recording, id),
  };
}

/** Its children were closed because it had completed: later versions wait for them. */
function endedWithAnswer({ delegations }: Recording, id: string): boolean {
  const own = delegations.get(id)?.events ?? [];
  if (!own.some(({ type }) => type === "agent.subagent_completed")) return false;
  return [...delegations.values()].some(
    ({ events, parentId }) =>
      parentId === id &&
      events.some(
        ({ payload, type }) =>
          type === "agent.subagent_failed" && payload.cause.code === "caller_closed",
      ),
  );
}

/** Messages are delivered where the recording delivered them, whenever they were sent. */
function mailAgain({ course }: ReplayPartsOptions): NonNullable<EngineParts["mailOf"]> {
  return async ({ id }) => {
    const delivered = course.nextOf(id, isDelivery).filter(isDelivery);
    const [first] = delivered;
    if (first === undefined) return [];
    // What was sent before has been let in by then.
    await course.when(first.seq);
    return delivered.map(({ payload }) => payload);
  };
}

type Delivery = StoredEvent<"agent.interjected"> & { readonly payload: SentMessage };

function isDelivery(event: StoredEvent): event is Delivery {
  return event.type === "agent.interjected" && event.payload.message_id !== undefined;
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
    if (course.hasStrayed(id) || agent?.work.isParked) return;
    const isStopped = (agent?.work.stopReason ?? null) !== null;
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
  return [...delegations.values()].flatMap(({ contract, events }) =>
    events.flatMap(({ payload, type }) => {
      const cause = type === "agent.subagent_failed" ? payload.cause : undefined;
      if (cause?.code !== "wrote_protected") return [];
      return cause.paths.map((path) => `${contract.workspace.copy?.of ?? ""}/${path}`);
    }),
  );
}

/** No server is opened: those that could not be had are missed again, in the same words. */
function recordedServers({ delegations }: Recording): ServerSource {
  const complaints = new Map<string, Unavailable[]>();
  for (const { events, id } of delegations.values()) {
    const said = events.flatMap(({ payload, type }) =>
      type === "agent.interjected" && payload.cause?.code === "server_unavailable"
        ? payload.cause
        : [],
    );
    if (said.length > 0) complaints.set(id, said);
  }
  return {
    declared: () => ({ kind: "stdio", command: "" }),
    async open(name, _server, { delegationId }) {
      const said = complaints.get(delegationId) ?? [];
      // Earlier versions did not record which server it was: there the order says so.
      const index = said.findIndex(({ server = name }) => server === name);
      const [complaint] = index < 0 ? [] : said.splice(index, 1);
      if (complaint !== undefined) throw new Error(complaint.text);
      return [];
    },
  };
}

type Unavailable = Extract<Reminder, { code: "server_unavailable" }>;
