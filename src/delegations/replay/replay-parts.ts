import type { SentMessage, StoredEvent } from "../../events/event.ts";
import type { Reminder } from "../../events/reminder.ts";
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
import { recordedPrograms } from "./replay-program.ts";

export interface ReplayPartsOptions {
  readonly store: Store;
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): LiveDelegation | undefined;
  makeChild(id: string): void;
  /** Runs around each delegation, from its first slot or from its recovery. */
  readonly live: NonNullable<Middleware["delegation"]>;
  readonly scheduler: EngineParts["scheduler"];
  readonly bounds: RecordedBounds;
}

/** The parts of an engine whose only source is the recording. */
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
    // A replay starts no new run and opens no folder.
    consentTo: async () => "read-only",
    skills: { all: () => [] },
    servers: recordedServers(recording),
    programs: recordedPrograms(recording, options.course),
    copies: async () => copies,
    hasCopies: () => false,
    worktrees: "",
    checksFor: () => async () => ({ passed: true }),
    release: recordedRelease(options),
    endStrays: async () => undefined,
    // Ends that were not written are not in the recording either.
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
    mailOf: recordedMail(options),
    endsWithAnswer: (id) => endedWithAnswer(recording, id),
  };
}

/** Whether its children were closed when it completed, as in earlier versions. Later ones wait for them. */
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

/** Delivers messages where the recording did, whenever they were sent. */
function recordedMail({ course }: ReplayPartsOptions): NonNullable<EngineParts["mailOf"]> {
  return async ({ id }) => {
    const delivered = course.nextOf(id, isDelivery).filter(isDelivery);
    const [first] = delivered;
    if (first === undefined) return [];
    // Every message sent before that event has been appended by then.
    await course.when(first.seq);
    return delivered.map(({ payload }) => payload);
  };
}

type Delivery = StoredEvent<"agent.interjected"> & { readonly payload: SentMessage };

function isDelivery(event: StoredEvent): event is Delivery {
  return event.type === "agent.interjected" && event.payload.message_id !== undefined;
}

/**
 * Delays each delegation before it closes, until its recorded end. A delegation that was ended from
 * outside while it closed by itself does not get further.
 */
function recordedRelease({ course, find }: ReplayPartsOptions): EngineParts["release"] {
  const overtaken = new Set<string>();
  return async (id) => {
    const agent = find(id);
    // A delegation that is being suspended does not end yet.
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

/** No limits: those that were enforced are in the log. Those that the engine asks for again are read from it. */
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

/** The protected paths whose change had failed a delegation. */
function guardedIn({ delegations }: Recording): readonly string[] {
  return [...delegations.values()].flatMap(({ contract, events }) =>
    events.flatMap(({ payload, type }) => {
      const cause = type === "agent.subagent_failed" ? payload.cause : undefined;
      if (cause?.code !== "wrote_protected") return [];
      return cause.paths.map((path) => `${contract.workspace.copy?.of ?? ""}/${path}`);
    }),
  );
}

/** Opens no server. Those that were unavailable are so again, with the recorded message. */
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
      // Earlier versions did not record the server's name: then the order decides.
      const index = said.findIndex(({ server = name }) => server === name);
      const [complaint] = index < 0 ? [] : said.splice(index, 1);
      if (complaint !== undefined) throw new Error(complaint.text);
      return [];
    },
  };
}

type Unavailable = Extract<Reminder, { code: "server_unavailable" }>;
