import { describeResumed } from "../../application/commands/describe-run.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { Timer } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { earlyAnswerIn } from "../../sessions/delegation-result.ts";
import { listSessions } from "../../sessions/list-sessions.ts";
import { ChatCommands } from "./chat-commands.ts";
import { ChatRuns } from "./chat-runs.ts";
import type { ChatEffect, ChatInput, Departure } from "./chat-state.ts";
import { type ChatStore, InputQueue } from "./chat-store.ts";
import { type ChatSetting, Conversation } from "./conversation.ts";
import type { NoteTone } from "./entry.ts";
import { InboxReader } from "./inbox-reader.ts";

const tickMs = 250;

/** The outcome of resuming one run. */
export interface ResumedBeside {
  readonly said: string;
  readonly tone: NoteTone;
  readonly runIds: readonly string[];
}

/** The actions of a person on the terminal itself. */
interface Redrawable {
  redraw(): void;
  suspend(): Promise<void>;
}

/** Performs the effects of the chat, and reports events to it. */
export class ChatDriver {
  readonly #setting: ChatSetting;
  readonly #store: ChatStore;
  readonly #runs: ChatRuns;
  readonly #reader: InboxReader;
  readonly #queue: InputQueue;
  readonly #conversation: Conversation;
  readonly #commands: ChatCommands;
  readonly #ticks: Timer;
  readonly #left = Promise.withResolvers<void>();
  /** Runs that were handed to another process. */
  readonly detached: string[] = [];
  #screen: Redrawable | undefined;

  constructor(setting: ChatSetting, store: ChatStore) {
    const { io, runtime } = setting;
    const { clock } = runtime;
    this.#setting = setting;
    this.#store = store;
    this.#queue = new InputQueue(
      (inputs) => store.dispatch(...inputs, ...this.#surroundings()),
      clock,
    );
    this.#runs = new ChatRuns(runtime, io, {
      event: (event) => this.#hear(event),
      told: (item) => this.#reader.noteTold([item]),
      finished: (entries) => this.#queue.push({ type: "entries", entries }),
      lost: (runId) => this.#conversation.lose(runId),
      failed: (error) => this.#tell(error),
    });
    this.#reader = new InboxReader(runtime.store, {
      clock,
      // Items that are about to be shown in the conversation must not count as unread.
      settled: () => this.#queue.flushed(),
      tell: (inbox) => this.#queue.push(this.#now(), { type: "inbox", inbox }),
    });
    this.#conversation = new Conversation({ setting, store, queue: this.#queue, runs: this.#runs });
    this.#commands = new ChatCommands(setting, store, (run) => {
      this.#conversation.joinStarted(run).catch((error) => this.#tell(error));
    });
    store.performedBy((effect) => void this.#perform(effect));
    this.#ticks = clock.every(tickMs, () => this.#tick());
  }

  /** Resolves when the person wants to leave. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  showOn(screen: Redrawable): void {
    this.#screen = screen;
  }

  stop(): void {
    this.#ticks.cancel();
    this.#queue.stop();
    this.#reader.stop();
    this.#runs.stop();
  }

  /** Streams the text of the agent that the conversation is with; the status line shows the others. */
  onDelta(delegationId: string, text: string): void {
    const { isSending, turn } = this.#store.state;
    if (isSending || turn?.rootId === delegationId) {
      this.#queue.push({ type: "delta", delegationId, text });
    }
  }

  /** Resumes interrupted runs. A run that cannot be resumed gives a warning. */
  async resume(ids: readonly string[]): Promise<readonly ResumedBeside[]> {
    const { engine } = this.#setting.runtime;
    const resumed: ResumedBeside[] = [];
    for (const id of ids) {
      try {
        const { refused, runs } = await engine.resume(id);
        const runIds = runs.map(({ runId }) => runId);
        resumed.push({ said: describeResumed({ refused, runs }, id), tone: "plain", runIds });
      } catch (error) {
        if (!(error instanceof MandateError)) throw error;
        resumed.push({ said: error.message, tone: "warn", runIds: [] });
      }
    }
    return resumed;
  }

  /** Follows resumed runs in the background, except the run of the conversation. */
  async workBeside(resumed: readonly ResumedBeside[]): Promise<void> {
    for (const { runIds, said, tone } of resumed) {
      this.#conversation.say(said, tone);
      for (const runId of runIds) {
        if (this.#store.state.turn?.runId !== runId) await this.#runs.workBeside(runId, "left");
      }
    }
  }

  async open(id: string | null): Promise<void> {
    await this.#conversation.open(id);
  }

  #hear(event: StoredEvent): void {
    this.#queue.push({ type: "event", event });
    if (event.type === "agent.subagent_closed") this.#reader.refresh();
  }

  #now(): ChatInput {
    return { type: "tick", now: this.#setting.io.now() };
  }

  /** The agents at work, and the tree while its panel is open. */
  #surroundings(): readonly ChatInput[] {
    const { panel, turn } = this.#store.state;
    const rows = panel.is === "tree" && turn ? this.#runs.liveTree(turn.runId) : undefined;
    const agents = { type: "agents", agents: this.#runs.agents } as const;
    return rows === undefined ? [agents] : [agents, { type: "tree", rows }];
  }

  /** Clocks and spinners move while an agent works or a question has a deadline. */
  #tick(): void {
    const { agents, inbox, isSending, turn } = this.#store.state;
    if (turn || isSending || agents.length > 0 || inbox.questions.size > 0) {
      this.#queue.push(this.#now());
    }
  }

  /** Shows an error as a notice, and as an entry, because the next key removes the notice. */
  #tell(error: unknown): void {
    const text = messageOf(error);
    this.#queue.push({ type: "notice", notice: { text, tone: "bad" } });
    this.#conversation.say(text, "bad");
  }

  async #perform(effect: ChatEffect): Promise<void> {
    try {
      await this.#act(effect);
    } catch (error) {
      // A completion is requested with every letter: a failure needs no message.
      if (effect.do !== "complete") this.#tell(error);
    }
  }

  async #act(effect: ChatEffect): Promise<void> {
    const { runtime, workspace } = this.#setting;
    switch (effect.do) {
      case "send":
        return this.#conversation.send(effect.text);
      case "command": {
        const reply = await this.#commands.execute(effect.text);
        this.#queue.push({ type: "entries", entries: [reply] });
        const [, askId] = /^\/answer\s+(\S+)/.exec(effect.text) ?? [];
        if (reply.ok && askId !== undefined) await this.#reader.noteAnswered(askId);
        return this.#reader.refresh();
      }
      case "complete": {
        const candidates = await this.#commands.complete(effect.text);
        return this.#store.dispatch({ type: "candidates", of: effect.text, candidates });
      }
      case "answer":
        await this.#reader.inbox.answer(effect.askId, effect.text);
        await this.#reader.noteAnswered(effect.askId);
        return this.#reader.refresh();
      case "interrupt":
        return this.#conversation.interrupt(effect.how);
      case "list-sessions": {
        const rows = await listSessions(runtime.store, { workspace, limit: 50 });
        return this.#store.dispatch(this.#now(), { type: "sessions", rows });
      }
      case "read-tree": {
        const { session, turn } = this.#store.state;
        const id = turn?.runId ?? session.id;
        const rows = id === null ? [] : await this.#runs.treeOf(id);
        return this.#store.dispatch({ type: "tree", rows });
      }
      case "note-told":
        return this.#reader.noteTold(effect.items);
      case "mark-read":
        await this.#reader.inbox.markRead(effect.upTo);
        return this.#reader.refresh();
      case "open-session":
        return this.#conversation.openAnother(effect.id);
      case "redraw":
        return this.#screen?.redraw();
      case "suspend":
        return this.#screen?.suspend();
      case "leave":
        return this.#leave(effect.how);
      default:
        return effect satisfies never;
    }
  }

  /** Leaves without a choice by the person: background sub-agents are interrupted. */
  async leaveUnasked(): Promise<void> {
    const { engine } = this.#setting.runtime;
    const { answered } = this.#runs;
    if (answered.length === 0) return this.#left.resolve();
    for (const { id } of answered) {
      await engine.interrupt(id, "the person left the chat").catch(() => undefined);
    }
    await this.#queue.flushed();
    this.#left.resolve();
  }

  async #leave(how: Departure | undefined): Promise<void> {
    const { detach, runtime } = this.#setting;
    switch (how) {
      case undefined:
        return this.leaveUnasked();
      case "wait":
        await this.#runs.answeredEnded();
        if (!this.#store.state.leavesAfterChildren) return;
        break;
      case "detach":
        for (const run of this.#runs.answered) {
          // A distributed run belongs to its workers, not to this process.
          if (run.spread === null) await detach(run);
          this.detached.push(run.id);
        }
        break;
      case "cancel":
        for (const run of this.#runs.answered) {
          const { running = [] } = earlyAnswerIn(run) ?? {};
          for (const id of running) await runtime.engine.cancel(id, "the person left the chat");
        }
        await this.#runs.answeredEnded();
        break;
      default:
        return how satisfies never;
    }
    // The farewell lists the runs that are open at that moment.
    await this.#queue.flushed();
    this.#left.resolve();
  }
}
