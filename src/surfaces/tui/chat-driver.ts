import { describeResumed, titleLine } from "../../application/commands/describe-run.ts";
import { FileFinder } from "../../application/find-files.ts";
import { findPlaces } from "../../control/places.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { Timer } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { listSessions } from "../../sessions/list-sessions.ts";
import type { StartedRun } from "../cli/work-on.ts";
import { ChatCommands } from "./chat-commands.ts";
import type { ChatEffect, ChatInput } from "./chat-input.ts";
import { ChatRuns } from "./chat-runs.ts";
import { type ChatCandidate, openQuestions } from "./chat-state.ts";
import { type ChatStore, InputQueue } from "./chat-store.ts";
import { type ChatSetting, Conversation, isDatabaseLost } from "./conversation.ts";
import type { NoteTone } from "./entry.ts";
import { InboxReader } from "./inbox-reader.ts";
import { mentionAt, mentioning } from "./keys/completing.ts";
import type { Editor } from "./keys/editor.ts";
import { Leaving } from "./leaving.ts";
import { LocalCommands } from "./local-commands.ts";
import { PersonShell } from "./person-shell.ts";
import { readDetail } from "./read-detail.ts";
import { SaidFile } from "./said-file.ts";
import { SessionFigures } from "./session-figures.ts";

const tickMs = 250;
const mostFiles = 50;

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
  readonly #figures: SessionFigures;
  readonly #shell: PersonShell;
  readonly #files: FileFinder;
  readonly #said: SaidFile;
  readonly #ticks: Timer;
  readonly departure: Leaving;
  readonly #lost = Promise.withResolvers<Error>();
  #screen: Redrawable | undefined;
  #ready: Promise<void> = Promise.resolve();

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
    const { home } = findPlaces(io.environment);
    this.#reader = new InboxReader(runtime.store, {
      clock,
      home,
      // Items that are about to be shown in the conversation must not count as unread.
      settled: () => this.#queue.flushed(),
      tell: (inbox) => this.#queue.push(this.#now(), { type: "inbox", inbox }),
    });
    this.departure = new Leaving(setting, store, { runs: this.#runs, queue: this.#queue });
    this.#figures = new SessionFigures(runtime, this.#runs, setting.model);
    this.#shell = new PersonShell(setting.workspace, clock);
    this.#files = new FileFinder(runtime);
    this.#said = new SaidFile(home);
    const local = new LocalCommands(setting, this.#figures);
    this.#conversation = new Conversation({
      ...{ setting, store, queue: this.#queue, runs: this.#runs, figures: this.#figures },
      shell: this.#shell,
      commands: local,
    });
    const onStart = (run: StartedRun) => {
      this.#conversation.joinStarted(run).catch((error) => this.#tell(error));
    };
    this.#commands = new ChatCommands(setting, store, { local, onStart });
    store.performedBy((effect) => void this.#perform(effect));
    this.#ticks = clock.every(tickMs, () => this.#tick());
  }

  /** Resolves when the database cannot be read any more. */
  get databaseLost(): Promise<Error> {
    return this.#lost.promise;
  }

  /** What is sent before the session is open waits for it. */
  holdUntil(ready: Promise<void>): void {
    this.#ready = ready;
  }

  showOn(screen: Redrawable): void {
    this.#screen = screen;
  }

  stop(): void {
    this.#shell.stop();
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
    this.#figures.see(event);
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
    const { figures } = this.#figures;
    return [
      { type: "agents", agents: this.#runs.agents },
      { type: "figures", figures },
      ...(rows === undefined ? [] : [{ type: "tree", rows } as const]),
    ];
  }

  /** Clocks and spinners move while an agent works or a question has a deadline. */
  #tick(): void {
    const { agents, inbox, isSending, shell, turn } = this.#store.state;
    if (turn || isSending || shell || agents.length > 0 || inbox.questions.size > 0) {
      this.#queue.push(this.#now());
    }
  }

  /** Shows an error as a notice, and as an entry, because the next key removes the notice. */
  #tell(error: unknown): void {
    if (isDatabaseLost(error)) {
      this.#lost.resolve(error);
      return;
    }
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
        await this.#ready;
        return this.#conversation.send(effect.text);
      case "command": {
        await this.#ready;
        const entries = await this.#commands.execute(effect.text);
        this.#queue.push({ type: "entries", entries });
        const [, askId] = /^\/answer\s+(\S+)/.exec(effect.text) ?? [];
        const [reply] = entries;
        const isDone = reply?.kind === "reply" && reply.ok;
        if (isDone && askId !== undefined) await this.#reader.noteAnswered(askId);
        return this.#reader.refresh();
      }
      case "shell":
        return this.#runShell(effect.text);
      case "stop-shell":
        return this.#shell.stop();
      case "remember":
        return this.#said.add(effect.text);
      case "complete": {
        const { text } = effect.editor;
        const candidates = text.startsWith("/")
          ? await this.#commands.complete(text)
          : await this.#findFiles(effect.editor);
        return this.#store.dispatch({ type: "candidates", of: text, candidates });
      }
      case "read-detail": {
        const about = { id: effect.id, columns: this.#store.state.columns };
        const detail = await readDetail(runtime.store, about, this.#setting.io);
        return this.#store.dispatch({ type: "detail", detail });
      }
      case "answer":
        return this.#answer(effect);
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
      case "clear":
        await this.#conversation.openAnother(null);
        this.#store.dispatch({ type: "cleared" });
        return this.#screen?.redraw();
      case "redraw":
        return this.#screen?.redraw();
      case "suspend":
        return this.#screen?.suspend();
      case "leave":
        return this.departure.leave(effect.how);
      default:
        return effect satisfies never;
    }
  }

  async #answer({ askId, text }: Extract<ChatEffect, { do: "answer" }>): Promise<void> {
    const { state } = this.#store;
    const question = openQuestions(state).find((one) => one.askId === askId);
    // The turn tells of its own questions, and of no other.
    const isTold = state.turn?.asked.has(askId) ?? false;
    try {
      await this.#reader.inbox.answer(askId, text);
    } catch (error) {
      this.#store.dispatch({ type: "unanswered", askId, text });
      throw error;
    }
    if (question !== undefined && !isTold) {
      const who = `${question.who} (run: ${titleLine(question.task)})`;
      const told = { kind: "question", who, text: question.text, answer: text } as const;
      this.#queue.push({ type: "entries", entries: [told] });
    }
    await this.#reader.noteAnswered(askId);
    return this.#reader.refresh();
  }

  async #runShell(command: string): Promise<void> {
    this.#queue.deliver({ type: "shell", command });
    try {
      const output = await this.#shell.run(command);
      this.#queue.push({ type: "entries", entries: [output] });
    } finally {
      this.#queue.push({ type: "shell", command: null });
    }
  }

  async #findFiles(editor: Editor): Promise<readonly ChatCandidate[]> {
    const mention = mentionAt(editor);
    if (mention === undefined) return [];
    const { wanted } = mention;
    const question = { wanted, most: mostFiles, signal: new AbortController().signal };
    const { paths } = await this.#files.find(this.#setting.workspace, question);
    // A space would end the mention.
    const fitting = paths.filter((path) => !/\s/.test(path));
    return fitting.map((path) => mentioning(editor, mention, path));
  }
}
