import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { render } from "ink-testing-library";
import { createElement } from "react";
import { afterEach } from "vitest";
import { hotkeysOf } from "../../commands/hotkeys-of.ts";
import type { Profile } from "../../profiles/profile.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import type { Io } from "../cli/io.ts";
import { styleFor } from "../cli/style.ts";
import { ChatApp } from "./chat-app.ts";
import { ChatDriver } from "./chat-driver.ts";
import { openChatState } from "./chat-state.ts";
import { ChatStore } from "./chat-store.ts";
import { usableHotkeys } from "./keys/keys.ts";

export const enter = "\r";
export const escapeKey = "\u001b";

interface ChatDeskOptions {
  readonly playbook: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly maxConcurrent?: number;
  readonly profiles?: readonly Profile[];
}

/** A desk for each test, cleared when it has ended. */
export function sitDownWith(
  playbook: string,
  always: Partial<ChatDeskOptions> = {},
): (more?: Partial<ChatDeskOptions>) => Promise<ChatDesk> {
  let desk: ChatDesk | undefined;
  afterEach(async () => {
    await desk?.close();
    desk = undefined;
  });
  return async (more = {}) => {
    desk = await ChatDesk.open({ playbook, ...always, ...more });
    return desk;
  };
}

/** A chat on a real runtime, drawn by Ink on a screen that tests can read. */
export class ChatDesk {
  readonly runtime: Runtime;
  readonly store: ChatStore;
  readonly driver: ChatDriver;
  readonly #screen: ReturnType<typeof render>;
  readonly #folder: string;

  private constructor(parts: Pick<ChatDesk, "runtime" | "driver" | "store">, io: Io) {
    this.runtime = parts.runtime;
    this.driver = parts.driver;
    this.store = parts.store;
    this.#folder = dirname(io.cwd);
    const style = styleFor(io.stdout, io);
    this.#screen = render(createElement(ChatApp, { store: this.store, style }));
  }

  static async open(options: ChatDeskOptions): Promise<ChatDesk> {
    const { columns = 80, maxConcurrent, playbook, profiles = [], rows = 24 } = options;
    const above = realpathSync(mkdtempSync(join(tmpdir(), "mandate-chat-")));
    const folder = join(above, "project");
    const home = join(above, "home");
    for (const each of [folder, home]) mkdirSync(each);
    const file = join(above, "playbook.yaml");
    writeFileSync(file, playbook);
    let hear: (id: string, text: string) => void = () => undefined;
    const runtime = await createRuntime({
      consent: "named",
      environment: { MANDATE_HOME: home, XDG_CONFIG_HOME: home, PATH: process.env["PATH"] },
      cwd: folder,
      database: ":memory:",
      playbook: { file },
      profiles,
      ...(maxConcurrent !== undefined && { maxConcurrent }),
      onDelta: (id, text) => hear(id, text),
    });
    const io = ioFor(folder, columns, rows);
    const store = new ChatStore(
      openChatState({
        columns,
        rows,
        now: io.now(),
        session: { id: null, title: "", profile: "general", modelNotice: "" },
        hotkeys: usableHotkeys(hotkeysOf(runtime.profiles.all()).hotkeys),
      }),
    );
    const driver = new ChatDriver(
      {
        runtime,
        io,
        workspace: folder,
        profile: "general",
        modelNotice: "",
        modelOverride: undefined,
        readOnly: false,
        place: "chat-test",
        maxTokens: undefined,
        maxCost: undefined,
        principal: { id: "local", role: "operator" },
      },
      store,
    );
    hear = (id, text) => driver.onDelta(id, text);
    return new ChatDesk({ runtime, driver, store }, io);
  }

  /** What the person sees: all that was said, and what moves below it. */
  get frame(): string {
    return stripVTControlCharacters(this.#screen.lastFrame() ?? "");
  }

  get rawFrame(): string {
    return this.#screen.lastFrame() ?? "";
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#screen.stdin.write(key);
      // Escape is a key by itself when nothing follows for a while.
      await new Promise((resolve) => setTimeout(resolve, key === escapeKey ? 60 : 5));
    }
  }

  async say(text: string): Promise<void> {
    await this.press(text, enter);
  }

  /** Without a pause between: for measuring. */
  async pressAndSee(key: string, text: string): Promise<void> {
    this.#screen.stdin.write(key);
    while (!this.frame.includes(text)) await new Promise((resolve) => setImmediate(resolve));
  }

  async see(text: string | RegExp): Promise<string> {
    const started = performance.now();
    const holds = () =>
      typeof text === "string" ? this.frame.includes(text) : text.test(this.frame);
    while (!holds()) {
      if (performance.now() - started > 8000) {
        throw new Error(`Not seen: ${String(text)}\nThe screen:\n${this.frame}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.frame;
  }

  async close(): Promise<void> {
    this.driver.stop();
    this.#screen.unmount();
    for (const run of this.runtime.engine.liveRuns)
      await this.runtime.engine.cancel(run.id, "the end");
    await this.runtime.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function ioFor(cwd: string, columns: number, rows: number): Io {
  const writer = {
    write: () => undefined,
    writeExact: () => undefined,
    isTerminal: true,
    columns,
    rows,
  };
  return {
    stdout: writer,
    stderr: writer,
    environment: { LANG: "C.UTF-8" },
    cwd,
    program: "mandate",
    pid: process.pid,
    now: Date.now,
    onSignal: () => () => undefined,
    leave: () => undefined,
  };
}
