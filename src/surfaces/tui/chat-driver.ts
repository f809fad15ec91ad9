import type { CommandContext } from "../../commands/command.ts";
import { commandContext } from "../../commands/command-context.ts";
import { completeCommand } from "../../commands/complete-command.ts";
import { executeCommand } from "../../commands/execute-command.ts";
import { fromUser } from "../../commands/user-text.ts";
import type { StoredEvent } from "../../events/event.ts";
import { isPaused } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { listSessions } from "../../sessions/list-sessions.ts";
import { readSession } from "../../sessions/read-session.ts";
import type { StartedRun } from "../cli/work-on.ts";
import type { ChatEffect, ChatInput, Interrupt } from "./chat-input.ts";
import { ChatRuns } from "./chat-runs.ts";
import type { ChatSetting } from "./chat-setting.ts";
import type { ChatSession } from "./chat-state.ts";
import type { ChatStore } from "./chat-store.ts";
import { entriesOfSession } from "./entries-of-session.ts";
import type { NoteTone } from "./entry.ts";
import { InboxReader } from "./inbox-reader.ts";
import { InputQueue } from "./input-queue.ts";
import { startTurn } from "./start-turn.ts";
import { beginTurn } from "./turn.ts";

const tickMs = 250;

/** Does what a chat wants done, and tells it what happens. */
export class ChatDriver {
  readonly #setting: ChatSetting;
  readonly #store: ChatStore;
  readonly #runs: ChatRuns;
  readonly #reader: InboxReader;
  readonly #queue: InputQueue;
  readonly #ticks: NodeJS.Timeout;
  readonly #left = Promise.withResolvers<void>();
  #redraw: () => void = () => undefined;

  constructor(setting: ChatSetting, store: ChatStore) {
    const { io, runtime } = setting;
    this.#setting = setting;
    this.#store = store;
    this.#queue = new InputQueue((inputs) => store.dispatch(...inputs, ...this.#surroundings()));
    this.#runs = new ChatRuns(runtime, io, {
      event: (event) => this.#hear(event),
      finished: (entries) => this.#queue.push({ type: "entries", entries }),
      lost: (runId) => this.#lose(runId),
    });
    this.#reader = new InboxReader(runtime.store, (inbox) =>
      this.#queue.push(this.#now(), { type: "inbox", inbox }),
    );
    store.performedBy((effect) => void this.#perform(effect));
    this.#ticks = setInterval(() => this.#tick(), tickMs);
  }

  /** Resolves when the person wants to leave. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  onRedraw(redraw: () => void): void {
    this.#redraw = redraw;
  }

  stop(): void {
    clearInterval(this.#ticks);
    this.#queue.stop();
    this.#reader.stop();
    this.#runs.stop();
  }

  /** Of whoever the conversation is with: what the others do is in the ledger. */
  onDelta(delegationId: string, text: string): void {
    const { isSending, turn } = this.#store.state;
    if (isSending || turn?.rootId === delegationId) {
      this.#queue.push({ type: "delta", delegationId, text });
    }
  }

  /** Runs that a crash interrupted go on beside the conversation. */
  async takeUp(): Promise<void> {
    for (const { runId } of await this.#setting.runtime.engine.recover()) {
      await this.#runs.workBeside(runId, "left");
      this.#say(`Run ${runId} was interrupted, and goes on beside this.`);
    }
  }

  /** A session with what was said in it; if it is at work, the person is part of that again. */
  async open(id: string | null): Promise<void> {
    const { io, modelNotice, profile, runtime } = this.#setting;
    const fresh: ChatSession = { id: null, title: "", profile, modelNotice };
    if (id === null) {
      const entries = [{ kind: "rule", text: "new session" } as const];
      this.#store.dispatch({ type: "opened", session: fresh, entries, said: [] });
      return;
    }
    const found = await readSession(runtime.store, id);
    const { context, sessionId, title } = found;
    this.#store.dispatch({
      type: "opened",
      session: { ...fresh, id: sessionId, title, profile: context?.agentId ?? "" },
      entries: [{ kind: "rule", text: title }, ...entriesOfSession(found, io.program)],
      said: found.entries.flatMap((entry) => (entry.kind === "person" ? [entry.text] : [])),
    });
    if (context !== null) await this.#joinOpenRun(context.runId, sessionId);
  }

  async #joinOpenRun(runId: string, rootId: string): Promise<void> {
    const { engine, store } = this.#setting.runtime;
    const run = await store.readRun(runId);
    if (run === undefined || run.outcome !== null) return;
    if (isPaused(run)) return this.#say(`It is paused. /resume ${runId} goes on with it.`, "warn");
    if (!(await store.isWorkerAlive(run.worker))) {
      const [taken] = await engine.recover(runId);
      if (taken === undefined) {
        return this.#say(`Run ${runId} was interrupted, and cannot be taken up here.`, "warn");
      }
      this.#say("It was interrupted, and goes on where it stopped.");
    }
    await this.#attach(runId, rootId);
  }

  /** From here on the conversation waits for this run. */
  async #attach(runId: string, rootId: string): Promise<void> {
    const { profile } = this.#store.state.session;
    // Nothing is shown before the past is: events are a fold, and a fold has no holes.
    await this.#queue.holdWhile(async () => {
      const events: StoredEvent[] = [];
      for await (const event of this.#setting.runtime.store.readEvents({ runId }))
        events.push(event);
      const startedAt = events.at(0)?.at ?? this.#setting.io.now();
      const turn = beginTurn({ runId, rootId, profile, startedAt });
      this.#store.dispatch({ type: "began", turn, events });
      await this.#runs.follow(runId);
    });
  }

  #hear(event: StoredEvent): void {
    this.#queue.push({ type: "event", event });
    if (event.type === "agent.subagent_closed") this.#reader.refresh();
  }

  #lose(runId: string): void {
    if (this.#store.state.turn?.runId !== runId) return;
    const reason = `Another process works on run ${runId} now.`;
    this.#queue.push({ type: "stopped", reason, giveBack: "" });
  }

  #now(): ChatInput {
    return { type: "tick", now: this.#setting.io.now() };
  }

  /** Who works, and the tree while somebody looks at it. */
  #surroundings(): readonly ChatInput[] {
    const { panel, turn } = this.#store.state;
    const rows = panel.is === "tree" && turn ? this.#runs.liveTree(turn.runId) : undefined;
    const agents = { type: "agents", agents: this.#runs.agents } as const;
    return rows === undefined ? [agents] : [agents, { type: "tree", rows }];
  }

  /** Clocks and spinners move while somebody works, or a question runs out of time. */
  #tick(): void {
    const { agents, inbox, isSending, turn } = this.#store.state;
    if (turn || isSending || agents.length > 0 || inbox.questions.size > 0) {
      this.#queue.push(this.#now());
    }
  }

  #say(text: string, tone: NoteTone = "plain"): void {
    this.#queue.push({ type: "entries", entries: [{ kind: "note", tone, text }] });
  }

  async #perform(effect: ChatEffect): Promise<void> {
    try {
      await this.#act(effect);
    } catch (error) {
      this.#queue.push({ type: "notice", notice: { text: messageOf(error), tone: "bad" } });
    }
  }

  async #act(effect: ChatEffect): Promise<void> {
    const { runtime, workspace } = this.#setting;
    switch (effect.do) {
      case "send":
        return this.#send(effect.text);
      case "command":
        return this.#command(effect.text);
      case "complete": {
        const candidates = await completeCommand(effect.text, this.#commandContext());
        return this.#store.dispatch({ type: "candidates", of: effect.text, candidates });
      }
      case "answer":
        await this.#reader.inbox.answer(effect.askId, effect.text);
        return this.#reader.refresh();
      case "interrupt":
        return this.#interrupt(effect.how);
      case "list-sessions": {
        const rows = await listSessions(runtime.store, { workspace, limit: 50 });
        return this.#store.dispatch(this.#now(), { type: "sessions", rows });
      }
      case "read-tree":
        return this.#readTree();
      case "mark-read":
        await this.#reader.inbox.markRead(effect.upTo);
        return this.#reader.refresh();
      case "open-session":
        return this.#openAnother(effect.id);
      case "redraw":
        return this.#redraw();
      case "leave":
        return this.#left.resolve();
      default:
        return effect satisfies never;
    }
  }

  async #send(text: string): Promise<void> {
    this.#store.dispatch({ type: "entries", entries: [{ kind: "person", text }] });
    const { id, profile } = this.#store.state.session;
    try {
      const run = await startTurn(this.#setting, id, text);
      await this.#queue.holdWhile(async () => {
        const { delegationId: rootId, runId } = run;
        const turn = beginTurn({ runId, rootId, profile, startedAt: this.#setting.io.now() });
        this.#store.dispatch({ type: "began", turn, events: [] });
        // What has arrived of the answer already comes after the events that it follows.
        const early = this.#queue.takeAll();
        await this.#runs.follow(runId);
        this.#queue.push(...early);
      });
    } catch (error) {
      const reason =
        error instanceof MandateError ? error.message : `It failed: ${messageOf(error)}`;
      this.#store.dispatch({ type: "stopped", reason, giveBack: text });
    }
  }

  #commandContext(): CommandContext {
    const { place, principal, readOnly, runtime, workspace } = this.#setting;
    return commandContext(runtime, principal, {
      session: place,
      workspace,
      readOnly,
      run: this.#store.state.turn?.runId,
      onStart: (run) => void this.#started(run),
    });
  }

  async #command(text: string): Promise<void> {
    const said = fromUser(text, this.#setting.principal);
    const { ok, reply } = await executeCommand(said, this.#commandContext());
    this.#queue.push({
      type: "entries",
      entries: [{ kind: "reply", command: text, ok, text: reply }],
    });
    this.#reader.refresh();
  }

  /** What goes on with this session is part of it; everything else is beside it. */
  async #started({ delegationId, runId }: StartedRun): Promise<void> {
    const run = await this.#setting.runtime.store.readRun(runId);
    const { session, turn } = this.#store.state;
    const origin = run?.delegations.get(delegationId)?.resumedFrom;
    const isHere = session.id !== null && [delegationId, origin].includes(session.id);
    if (isHere && turn === null) return this.#attach(runId, delegationId);
    return this.#runs.workBeside(runId, "command");
  }

  async #interrupt(how: Interrupt): Promise<void> {
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
        return this.#runs.endAfterChildren(turn.runId);
      case "background":
        await this.#openAnother(null);
        return this.#say(`${turn.profile}#${turn.rootId} goes on beside this. Ctrl+G leads back.`);
      default:
        return how satisfies never;
    }
  }

  /** What works goes on without being looked at. */
  async #openAnother(id: string | null): Promise<void> {
    const { turn } = this.#store.state;
    if (turn !== null) await this.#runs.workBeside(turn.runId, "left");
    await this.open(id);
  }

  async #readTree(): Promise<void> {
    const { session, turn } = this.#store.state;
    const id = turn?.runId ?? session.id;
    const rows = id === null ? [] : await this.#runs.treeOf(id);
    this.#store.dispatch({ type: "tree", rows });
  }
}
