import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
const program = resolve(import.meta.dirname, "../../bin/mandate.ts");

const playbook = `
version: 1
name: terminal
replies:
  - when: { depth: 0, turn: 1, last: "delegate" }
    text: "I will ask one."
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Count the files" } }]
  - when: { depth: 0, turn: 1, last: "question" }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { depth: 0, turn: 1, last: "long" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Take long" } }]
  - when: { depth: 0, last: "Take long" }
    text: "It took long."
  - when: { depth: 0, tool: delegate_task }
    text: "Counted."
  - when: { depth: 0, tool: ask_user }
    text: "So it is {{last}}."
  - when: { depth: 0 }
    text: "Heard."
  - when: { task: "Take long" }
    text: "Take long is over"
    latency_ms: 4000
  - text: "There are twelve"
    latency_ms: 100
`;

/** A real terminal of its own size, with a person in front of it. */
class Terminal {
  readonly #above = realpathSync(mkdtempSync(join(tmpdir(), "mandate-terminal-")));
  readonly #size: readonly [number, number];

  get #socket(): string {
    return join(this.#above, "tmux");
  }

  constructor(columns: number, rows: number) {
    this.#size = [columns, rows];
    for (const folder of ["home", "project"]) mkdirSync(join(this.#above, folder));
    writeFileSync(join(this.#above, "playbook.yaml"), playbook);
    const [width, height] = this.#size;
    const shell = ["sh"];
    this.#tmux(
      "-f",
      "/dev/null",
      "new-session",
      "-d",
      "-x",
      `${width}`,
      "-y",
      `${height}`,
      ...shell,
    );
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

  start(words = "", environment = ""): void {
    const home = join(this.#above, "home");
    const variables = `MANDATE_HOME=${home} XDG_CONFIG_HOME=${home} LANG=C.UTF-8 ${environment}`;
    const file = join(this.#above, "playbook.yaml");
    this.say(
      `cd ${join(this.#above, "project")}; clear; ${variables} sh -c 'echo $$ > ../pid; exec ${process.execPath} ${program} chat --playbook ${file} ${words}'; echo "left with $?"`,
    );
  }

  /** What stands on the screen, or what has scrolled off it as well. */
  screen(withPast = false): string {
    return this.#tmux("capture-pane", "-p", ...(withPast ? ["-S", "-1000"] : []));
  }

  async see(text: string | RegExp): Promise<string> {
    const started = performance.now();
    for (;;) {
      const screen = this.screen();
      if (typeof text === "string" ? screen.includes(text) : text.test(screen)) return screen;
      if (performance.now() - started > 15_000) {
        throw new Error(`Not seen: ${String(text)}\nThe screen:\n${screen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** As a machine does that runs out of memory: nobody is asked, nothing is tidied up. */
  killProgram(): void {
    process.kill(Number(readFileSync(join(this.#above, "pid"), "utf8")), "SIGKILL");
  }

  async close(): Promise<void> {
    spawnSync("tmux", ["-S", this.#socket, "kill-server"]);
    // The program leaves when its terminal is gone, and writes until then.
    for (let waited = 0; waited < 3000 && this.#isRunning(); waited += 50) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
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

let terminal: Terminal | undefined;

afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
});

function sitDown(columns: number, rows: number): Terminal {
  terminal = new Terminal(columns, rows);
  return terminal;
}

describe.skipIf(!hasTmux)(
  `In a real terminal${hasTmux ? "" : " (skipped: tmux is not installed)"}`,
  () => {
    test("a person talks, delegates, answers, asks for the status and goes to another session", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.say("Please delegate this");
      await person.see(/✓ researcher#\w+ {2}Count the files/);
      await person.see("● Counted.");

      person.say("I have a question");
      await person.see("Tab answers");
      person.press("Tab");
      await person.see("your answer to");
      person.say("blue");
      await person.see("● So it is");

      person.type("/sta");
      await person.see("→ /status");
      person.press("Tab");
      await person.see(/› \/status/);
      person.press("Enter");
      await person.see("Nothing runs.");

      person.press("C-t");
      await person.see("── tree");
      person.press("Escape");
      // What was said is where it was: the panel lay on another screen.
      await person.see("Nothing runs.");

      person.press("C-g");
      await person.see("sessions of this folder");
      person.press("Enter");
      await person.see("general, new session");
      person.say("Hello");
      await person.see("● Heard.");
      person.press("C-g");
      await person.see("Please delegate this");
      person.press("Down", "Down", "Enter");
      await person.see(/✓ researcher#\w+ {2}completed/);
      await person.see(/→ blue/);

      person.press("C-c");
      await person.see("Ctrl+C again leaves");
      person.press("C-c");
      const end = await person.see("left with 0");
      expect(end).toMatch(/Go on with: .* chat --continue \w+/);
      expect(end).not.toContain("say something");
    }, 60_000);

    test("an interrupt asks about children, and a killed chat goes on where it was", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.say("This takes long");
      await person.see(/researcher#\w+ running/);
      person.press("Escape");
      await person.see("Cancel all");
      person.press("Escape");
      await person.see(/Esc interrupts/);
      person.killProgram();
      await person.see("left with 137");
      // The terminal is as the program had it: the line end is that of a raw one.
      person.type("stty sane");
      person.press("C-j");
      person.start("--continue");
      await person.see("goes on where it stopped");
      await person.see(/✓ researcher#\w+ {2}Take long/);
      await person.see("● It took long.");
      person.say("And now?");
      await person.see("● Heard.");
    }, 60_000);

    test.each([
      ["", 40, 20],
      ["NO_COLOR=1 CI=1", 80, 24],
    ])(
      "it works with %j at %i by %i, and no line breaks at the edge",
      async (environment, columns, rows) => {
        const person = sitDown(columns, rows);
        person.start("", environment);
        await person.see("── general");
        person.say("Please delegate this to somebody who knows what files are");
        await person.see("● Counted.");
        for (const key of ["C-t", "C-o", "C-g", "?"]) {
          person.press(key);
          await person.see(/Esc closes|Enter goes/);
          person.press("Escape");
          await person.see("● Counted.");
        }
        const rules = person
          .screen()
          .split("\n")
          .filter((line) => line.startsWith("── general"));
        expect(rules).toHaveLength(1);
        expect(rules[0]).toHaveLength(columns - 1);
        expect(person.screen(true).match(/● Counted\./g)).toHaveLength(1);
      },
      60_000,
    );

    test("TERM=dumb and a pipe are refused with what to use instead", async () => {
      const person = sitDown(80, 24);
      person.start("", "TERM=dumb");
      await person.see("left with 2");
      expect(person.screen()).toContain("TERM is dumb");
      person.start("| cat");
      await person.see("needs a terminal for input and output");
    }, 30_000);
  },
);
