import { describe, expect, test } from "vitest";
import { until } from "../../testing/until.ts";
import { hasTmux, sitDownAtTerminalWith } from "./terminal.test-support.ts";

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
  - when: { depth: 0, last: "a tale" }
    text: "${Array.from({ length: 40 }, (_each, index) => `Paragraph ${index + 1} of it.`).join("\\n\\n")}"
    latency_ms: 6000
    chunks: 60
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

const sitDown = sitDownAtTerminalWith(playbook);

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
      expect(end).toMatch(/Continue the session: .* chat --continue \w+/);
      for (const moved of ["say something", "Ctrl+C again", "^O inbox"]) {
        expect(end).not.toContain(moved);
      }
    }, 120_000);

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
      await person.resetTerminal();
      person.start("--continue");
      await person.see(/1 run was interrupted: r\w+ "This takes long", .*Resume it\? \(y\/N\)/);
      person.say("y");
      await person.see(/Run r\w+ continues where it stopped/);
      await person.see(/✓ researcher#\w+ {2}Take long/);
      await person.see("● It took long.");
      person.say("And now?");
      await person.see("● Heard.");
    }, 120_000);

    test("a killed chat is left alone when the offer is not taken, and /resume continues it", async () => {
      const person = sitDown(100, 24);
      person.start();
      await person.see("say something");
      person.say("This takes long");
      await person.see(/researcher#\w+ running/);
      person.killProgram();
      await person.see("left with 137");
      await person.resetTerminal();
      person.start("--continue");
      await person.see("Resume it? (y/N)");
      person.press("Enter");
      const [, runId] = /was interrupted\. Resume it: \/resume (r\w+)/.exec(
        await person.see(/was interrupted\. Resume it: \/resume r\w+/),
      ) ?? [""];
      person.say(`/resume ${runId}`);
      await person.see(`Run ${runId} continues where it stopped.`);
      await person.see("● It took long.");
      person.say("And now?");
      await person.see("● Heard.");
    }, 120_000);

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
      120_000,
    );

    test("TERM=dumb and a pipe are refused with what to use instead", async () => {
      const person = sitDown(80, 24);
      person.start("", "TERM=dumb");
      await person.see("left with 2");
      expect(person.screen()).toContain("TERM is dumb");
      person.start("| cat");
      await person.see("needs a terminal for input and output");
    }, 120_000);

    test("Ctrl-Z leads to the shell and fg back, with the conversation and what was typed", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.say("Hello");
      await person.see("● Heard.");
      person.type("half a sen");
      await person.see("› half a sen");
      person.press("C-t");
      await person.see("── tree");
      person.press("C-z");
      await person.see("fg continues");
      // The shell has the terminal: what was typed before would be lost.
      await person.see(/\]\s*\+\s+Stopped/);
      expect(person.isOnOtherScreen).toBe(false);
      person.say("echo in the $0");
      await person.see(/^in the sh/m);
      person.say("fg");
      await person.see("› half a sen");
      person.type("tence");
      await person.see("› half a sentence");
      person.press("Enter");
      await person.see(/› half a sentence\n[\s\S]*● Heard\./);
    }, 120_000);

    test.each(["SIGTERM", "SIGUSR2"] as const)(
      "%s gives the terminal back as it was, also while a panel lies over it",
      async (signal) => {
        const person = sitDown(80, 24);
        const crash = person.write(
          "crash.mjs",
          'process.on("SIGUSR2", () => { throw new Error("broken \\u001b[31m in two"); });',
        );
        person.start("", `NODE_OPTIONS=--import=${crash}`);
        await person.see("say something");
        person.say("Hello");
        await person.see(/● Heard\.[\s\S]*say something/);
        person.press("C-t");
        await person.see("── tree");
        expect(person.isOnOtherScreen).toBe(true);
        person.signal(signal);
        const end = await person.see(signal === "SIGTERM" ? "left with 143" : "left with 1");
        expect(person.isOnOtherScreen).toBe(false);
        expect(end).toContain("● Heard.");
        expect(end).not.toContain("^O inbox");
        if (signal === "SIGUSR2") expect(end).toContain("mandate: broken  in two");
        person.say("echo as it was");
        await person.see(/^as it was/m);
      },
      120_000,
    );

    test("the first chat in a folder asks in plain text before it draws, and only once", async () => {
      const person = sitDown(80, 24);
      person.start("", "", "");
      await person.see(/How may they work here\?[\s\S]*Enter: no/);
      person.press("C-c");
      expect(await person.see("left with 3")).toContain("Nothing was started");
      person.start("", "", "");
      // What is typed before the question is there does not answer it.
      await person.see(/^(?![\s\S]*left with)[\s\S]*Enter: no/);
      person.say("1");
      await person.see("say something");
      person.say("Hello");
      await person.see(/● Heard\.[\s\S]*say something/);
      person.press("C-c", "C-c");
      await person.see("left with 0");
      person.start("", "", "");
      await person.see("say something");
      expect(person.screen()).not.toContain("How may they work here?");
    }, 120_000);

    test("a database that is lost ends the chat with a sentence", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.say("Hello");
      await person.see(/● Heard\.[\s\S]*say something/);
      person.loseDatabase();
      person.say("Are you there?");
      const end = await person.see("left with 1");
      expect(end).toContain("mandate: The database was lost while the chat was open");
      expect(end).not.toMatch(/ at .*\.ts:\d/);
    }, 120_000);

    test("another width draws everything anew, and a window that is too small says so", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.say("Please tell me something that is wider than a line of forty columns");
      await person.see("● Heard.");
      person.resize(40, 20);
      await person.see(/^ {2}wider than a line of/m);
      await person.see("● Heard.");
      expect(person.screen().match(/Heard/g)).toHaveLength(1);
      person.press("C-t");
      await person.see("── tree");
      person.resize(60, 20);
      person.press("Escape");
      await person.see("● Heard.");
      expect(person.screen().match(/Heard/g)).toHaveLength(1);
      person.resize(25, 8);
      await person.see(/This window is too/);
      person.type("nobody sees this");
      person.resize(80, 24);
      await person.see("● Heard.");
      await person.see("say something");
    }, 120_000);

    test("a long answer is read while it comes, and leaves no old frame in the history", async () => {
      const person = sitDown(80, 24);
      person.start();
      // Typed before the screen is up.
      person.say("Tell me a tale");
      await until("the beginning is in the history", () =>
        /● Paragraph 1 [\s\S]*Paragraph 3 [\s\S]*Esc interrupts/.test(person.screen(true)),
      );
      expect(person.screen(true)).not.toContain("Paragraph 40 ");
      person.say("/status");
      await person.see("Paragraph 40 ");
      await person.see("say something");
      const all = person.screen(true);
      expect(all.match(/\^O inbox/g)).toHaveLength(1);
      const order = [...all.matchAll(/Paragraph (\d+) /g)].map(([, number]) => Number(number));
      expect(order).toEqual(Array.from({ length: 40 }, (_each, index) => index + 1));
      expect(all).toMatch(/› Tell me a tale\n\n● Paragraph 1 /);
    }, 120_000);

    test("a paste of many lines is one message, as it was", async () => {
      const person = sitDown(80, 24);
      person.start();
      await person.see("say something");
      person.paste("first\n  second\nthird\n");
      await person.see(/› first\n {4}second\n {2}third/);
      person.press("Enter");
      await person.see("● Heard.");
      expect(person.screen()).toMatch(/› first\n {4}second\n {2}third/);
    }, 120_000);

    test("one without colours, without UTF-8 and with one screen gets letters that it has", async () => {
      const person = sitDown(80, 24);
      person.start("", "TERM=vt100 LANG=C NO_COLOR=1");
      await person.see("-- general");
      person.say("Please delegate the größte part");
      await person.see("* Counted.");
      person.press("C-t");
      await person.see("-- tree");
      person.press("Escape");
      const screen = await person.see("* Counted.");
      expect(screen).toContain("> Please delegate the gr??te part");
      expect([...screen].filter((letter) => letter > "~")).toEqual([]);
    }, 120_000);
  },
);
