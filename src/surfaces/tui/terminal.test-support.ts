import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach } from "vitest";
import { until } from "../../testing/until.ts";

export const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
const program = resolve(import.meta.dirname, "../../mandate.ts");

/** A terminal for each test, closed when it has ended. */
export function sitDownAtTerminalWith(
  playbook: string,
): (columns: number, rows: number) => Terminal {
  let terminal: Terminal | undefined;
  afterEach(async () => {
    await terminal?.close();
    terminal = undefined;
  });
  return (columns, rows) => {
    terminal = new Terminal(playbook, columns, rows);
    return terminal;
  };
}

/** A real terminal of its own size, with a person in front of it. */
export class Terminal {
  readonly #above = realpathSync(mkdtempSync(join(tmpdir(), "mandate-terminal-")));
  get #socket(): string {
    return join(this.#above, "tmux");
  }

  constructor(playbook: string, columns: number, rows: number) {
    for (const folder of ["home", "project"]) mkdirSync(join(this.#above, folder));
    writeFileSync(join(this.#above, "playbook.yaml"), playbook);
    const size = ["-x", `${columns}`, "-y", `${rows}`];
    // A shell with jobs: it can stop a program, and go on with it.
    this.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "sh", "-im");
  }

  type(text: string): void {
    this.#tmux("send-keys", "-l", text);
  }

  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  say(text: string): void {
    this.type(text);
    this.press("Enter");
  }

  /** `consent`: how the person lets agents work in the folder; "": they have not said. */
  start(words = "", environment = "", consent = "--trust-folder"): void {
    const home = join(this.#above, "home");
    const variables = `MANDATE_HOME=${home} XDG_CONFIG_HOME=${home} LANG=C.UTF-8 ${environment}`;
    const file = join(this.#above, "playbook.yaml");
    this.say(
      `cd ${join(this.#above, "project")}; clear; ${variables} sh -c 'echo $$ > ../pid; exec ${process.execPath} ${program} chat ${consent} --playbook ${file} ${words}'; echo "left with $?"`,
    );
  }

  /** What stands on the screen, or what has scrolled off it as well. */
  screen(withPast = false): string {
    return this.#tmux("capture-pane", "-p", ...(withPast ? ["-S", "-1000"] : []));
  }

  async see(text: string | RegExp): Promise<string> {
    return until(String(text), () => {
      const screen = this.screen();
      return (typeof text === "string" ? screen.includes(text) : text.test(screen)) && screen;
    }).catch((cause: unknown) => {
      throw new Error(`Not seen: ${String(text)}\nThe screen:\n${this.screen()}`, { cause });
    });
  }

  /** After a kill -9 the terminal is still raw: Enter ends no line until the shell has reset it. */
  async resetTerminal(): Promise<void> {
    this.press("C-j");
    this.type("stty sane; printf 're%s\\n' set");
    this.press("C-j");
    await this.see("reset");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", `${columns}`, "-y", `${rows}`);
  }

  /** As terminals paste: marked, where the program asked for that. */
  paste(text: string): void {
    this.#tmux("set-buffer", text);
    this.#tmux("paste-buffer", "-p", "-r");
  }

  /** One of the folders that the person has: `home` or `project`. */
  folder(name: "home" | "project"): string {
    return join(this.#above, name);
  }

  /** A file beside the project, and where it is. */
  write(name: string, text: string): string {
    writeFileSync(join(this.#above, name), text);
    return join(this.#above, name);
  }

  /** Whether what is seen lies on the terminal's other screen. */
  get isOnOtherScreen(): boolean {
    return this.#tmux("display-message", "-p", "#{alternate_on}").trim() === "1";
  }

  /** As a disk does that forgets: the file is there, and nothing of it is what it was. */
  loseDatabase(): void {
    for (const [file, size] of [
      ["", 240_000],
      ["-wal", 0],
      ["-shm", 32_768],
    ] as const) {
      const path = join(this.#above, "home", `mandate.db${file}`);
      if (size === 0) truncateSync(path);
      else writeFileSync(path, Buffer.alloc(size, 0x5a), { flag: "r+" });
    }
  }

  signal(name: NodeJS.Signals): void {
    process.kill(Number(readFileSync(join(this.#above, "pid"), "utf8")), name);
  }

  /** As a machine does that runs out of memory: nobody is asked, nothing is tidied up. */
  killProgram(): void {
    this.signal("SIGKILL");
  }

  async close(): Promise<void> {
    spawnSync("tmux", ["-S", this.#socket, "kill-server"]);
    // With its terminal the program loses all that it is there for; it is not waited for.
    await until("the program ends", () => {
      const isRunning = this.#isRunning();
      if (isRunning) this.killProgram();
      return !isRunning;
    });
    rmSync(this.#above, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  #isRunning(): boolean {
    try {
      return process.kill(Number(readFileSync(join(this.#above, "pid"), "utf8")), 0);
    } catch {
      return false;
    }
  }

  #tmux(...words: readonly string[]): string {
    const { status, stderr, stdout } = spawnSync("tmux", ["-S", this.#socket, ...words], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`tmux ${words[0]}: ${stderr}`);
    return stdout;
  }
}
