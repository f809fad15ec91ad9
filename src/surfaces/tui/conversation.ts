import { cancelAfterChildren } from "../../application/cancel-after-children.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { StoredEvent } from "../../events/event.ts";
import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Runtime } from "../../runtime.ts";
import { earlyAnswerOf } from "../../sessions/delegation-result.ts";
import { readSession } from "../../sessions/read-session.ts";
import type { ContinueOptions } from "../../sessions/resumption.ts";
import type { Io } from "../cli/io.ts";
import type { StartedRun } from "../cli/work-on.ts";
import type { Interrupt } from "./chat-input.ts";
import type { ChatRuns } from "./chat-runs.ts";
import type { ChatSession } from "./chat-state.ts";
import type { ChatStore, InputQueue } from "./chat-store.ts";
import { entriesOfSession, type NoteTone } from "./entry.ts";
import type { LocalCommands } from "./local-commands.ts";
import type { PersonShell } from "./person-shell.ts";
import type { SessionFigures } from "./session-figures.ts";
import { beginTurn } from "./turn.ts";

export interface ConversationParts {
  readonly setting: ChatSetting;
  readonly store: ChatStore;
  readonly queue: InputQueue;
  readonly runs: ChatRuns;
  readonly figures: SessionFigures;
  readonly shell: PersonShell;
  readonly commands: LocalCommands;
}

/** The session of the chat: opens, continues and interrupts it, and changes to another. */
export class Conversation {
  readonly #setting: ChatSetting;
  readonly #store: ChatStore;
  readonly #queue: InputQueue;
  readonly #runs: ChatRuns;
  readonly #parts: ConversationParts;

  constructor(parts: ConversationParts) {
    const { queue, runs, setting, store } = parts;
    this.#parts = parts;
    this.#setting = setting;
    this.#store = store;
    this.#queue = queue;
    this.#runs = runs;
  }

  /** Shows a session, and joins its run if that is open. Null: a new session. */
  async open(id: string | null): Promise<void> {
    const { io, modelNotice, profile, runtime } = this.#setting;
    const fresh: ChatSession = { id: null, title: "", profile, modelNotice };
    if (id === null) {
      await this.#parts.figures.open(null, []);
      const entries = [{ kind: "rule", text: "new session" } as const];
      this.#queue.deliver({ type: "opened", session: fresh, entries, said: [] });
      return;
    }
    const found = await readSession(runtime.store, id);
    const { context, sessionId, title } = found;
    await this.#parts.figures.open(sessionId, context?.runIds ?? []);
    this.#queue.deliver({
      type: "opened",
      session: { ...fresh, id: sessionId, title, profile: context?.agentId ?? "" },
      entries: [{ kind: "rule", text: title }, ...entriesOfSession(found, io.program)],
      said: found.entries.flatMap((entry) => (entry.kind === "person" ? [entry.text] : [])),
    });
    if (context !== null) await this.#joinOpenRun(context.runId, sessionId);
  }

  /** Running work continues in the background. */
  async openAnother(id: string | null): Promise<void> {
    const { turn } = this.#store.state;
    if (turn !== null) await this.#runs.workBeside(turn.runId, "left");
    await this.open(id);
  }

  async send(text: string): Promise<void> {
    this.#queue.deliver({ type: "entries", entries: [{ kind: "person", text }] });
    const { id, profile } = this.#store.state.session;
    const { commands, figures, shell } = this.#parts;
    const extra = { modelOverride: commands.model, untrustedInput: shell.takeInput() };
    try {
      const run = await startTurn(this.#setting, id, text, extra);
      await this.#queue.holdWhile(async () => {
        const { delegationId: rootId, runId } = run;
        figures.begin(runId, rootId);
        const turn = beginTurn({ runId, rootId, profile, startedAt: this.#setting.io.now() });
        this.#store.dispatch({ type: "began", turn, events: [] });
        // Deltas that arrived early are delivered after the events that they follow.
        const early = this.#queue.takeAll();
        await this.#runs.follow(runId);
        this.#queue.push(...early);
      });
    } catch (error) {
      if (isDatabaseLost(error)) throw error;
      const reason =
        error instanceof MandateError ? error.message : `It failed: ${messageOf(error)}`;
      this.#store.dispatch({ type: "stopped", reason, giveBack: text });
    }
  }

  async interrupt(how: Interrupt): Promise<void> {
    const { turn } = this.#store.state;
    if (turn === null) return;
    const { engine } = this.#setting.runtime;
    switch (how) {
      case "cancel":
        await engine.cancel(turn.runId, "interrupted at the terminal");
        return;
      case "by-contract":
        await engine.interrupt(turn.runId, "interrupted at the terminal");
        return;
      case "after-children":
        await cancelAfterChildren(this.#setting.runtime, turn.runId, "interrupted at the terminal");
        return;
      case "background":
        await this.openAnother(null);
        return this.say(
          `${turn.profile}#${turn.rootId} continues in the background. Ctrl+G leads back.`,
        );
      default:
        return how satisfies never;
    }
  }

  /** A command began this run. It joins the conversation if it continues this session; otherwise it runs beside it. */
  async joinStarted({ delegationId, runId }: StartedRun): Promise<void> {
    const run = await this.#setting.runtime.store.readRun(runId);
    const { session, turn } = this.#store.state;
    const origin = run?.delegations.get(delegationId)?.resumedFrom;
    const isHere = session.id !== null && [delegationId, origin].includes(session.id);
    if (isHere && turn === null) return this.#attach(runId, delegationId);
    return this.#runs.workBeside(runId, "command");
  }

  /** Leaves a run that another process owns now. */
  lose(runId: string): void {
    if (this.#store.state.turn?.runId !== runId) return;
    const reason = `Another process works on run ${runId} now.`;
    this.#queue.push({ type: "stopped", reason, giveBack: "" });
  }

  say(text: string, tone: NoteTone = "plain"): void {
    this.#queue.push({ type: "entries", entries: [{ kind: "note", tone, text }] });
  }

  async #joinOpenRun(runId: string, rootId: string): Promise<void> {
    const { store } = this.#setting.runtime;
    const run = await store.readRun(runId);
    if (run === undefined || run.outcome !== null) return;
    if (!(await isRunInterrupted(store, run))) return this.#attach(runId, rootId);
    const how = isPaused(run) ? "is paused" : "was interrupted";
    this.say(`Run ${runId} ${how}. Resume it: /resume ${runId}`, "warn");
  }

  /** Makes this run the turn of the conversation. */
  async #attach(runId: string, rootId: string): Promise<void> {
    const run = await this.#setting.runtime.store.readRun(runId);
    if (run !== undefined && earlyAnswerOf(run, rootId) !== null) {
      return this.#runs.followAnswered(runId);
    }
    const { profile } = this.#store.state.session;
    // The stored events come first: the fold must not miss one.
    await this.#queue.holdWhile(async () => {
      const events: StoredEvent[] = [];
      for await (const event of this.#setting.runtime.store.readEvents({ runId }))
        events.push(event);
      const startedAt = events.at(0)?.at ?? this.#setting.io.now();
      this.#parts.figures.begin(runId, rootId);
      const turn = beginTurn({ runId, rootId, profile, startedAt });
      this.#store.dispatch({ type: "began", turn, events });
      await this.#runs.follow(runId);
    });
  }
}

/** Starts a run for the person's message: the first of a new session (null), or the next of an existing one. */
async function startTurn(
  setting: ChatSetting,
  sessionId: string | null,
  message: string,
  extra: Pick<ContinueOptions, "modelOverride" | "untrustedInput">,
): Promise<StartedRun> {
  const { io, maxCost, maxTokens, place, profile, readOnly, runtime } = setting;
  if (sessionId === null) {
    const { workspace } = setting;
    const limits = { readOnly, maxTokens, maxCost };
    const chosen = { ...extra, isModelChosen: extra.modelOverride !== undefined };
    const request = { task: message, isTyped: true, profile, workspace, ...chosen, ...limits };
    return runtime.engine.startRun({ ...request, session: place });
  }
  const run = await runtime.store.readRun((await runtime.store.findRun(sessionId)) ?? "");
  // The scripted model must not continue a session of a language model, nor the other way round.
  if (run !== undefined && run.application !== runtime.application) {
    throw new MandateError(
      "not-resumable",
      `This session is answered by something else (${run.application}): ${io.program} chat --continue ${sessionId}`,
    );
  }
  const session = run?.session?.id;
  const options = { isTyped: true, readOnly, session, ...extra };
  return runtime.engine.continueSession(sessionId, message, options);
}

/** The runtime, folder and limits of a chat. */
/** SQLITE_CORRUPT and SQLITE_NOTADB: no further step of the chat can succeed. */
const lostCodes: ReadonlySet<unknown> = new Set([11, 26]);

export function isDatabaseLost(error: unknown): error is Error {
  return error instanceof Error && "errcode" in error && lostCodes.has(error.errcode);
}

export interface ChatSetting {
  readonly runtime: Runtime;
  readonly io: Io;
  readonly workspace: string;
  /** The profile of new sessions. */
  readonly profile: string;
  readonly modelNotice: string;
  /** The model of a new session. */
  readonly model: string;
  readonly modelOverride: string | undefined;
  readonly readOnly: boolean;
  /** The id of this chat as a place for pins and sessions. */
  readonly place: string;
  readonly maxTokens: number | undefined;
  readonly maxCost: number | undefined;
  readonly principal: Principal;
  /** Starts a process that works on a run, once this one has released it. */
  readonly detach: (run: Pick<RunState, "id" | "workspace">) => Promise<unknown>;
}
