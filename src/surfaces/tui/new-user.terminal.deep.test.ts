import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { expect, test } from "vitest";
import { hasTmux, sitDownAtTerminalWith } from "./terminal.test-support.ts";

const clone = resolve(import.meta.dirname, "../../..");

const playbook = `
version: 1
name: harbour
replies:
  - when: { depth: 0, turn: 1, last: "sub-agent" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Count the modules" } }]
  - when: { profile: researcher }
    text: "There are twelve modules."
  - when: { depth: 0, turn: 1, last: "colour" }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { depth: 0, tool: ask_user }
    text: "It is **{{last}}** now."
  - when: { depth: 0, turn: 1, last: "approve" }
    calls: [{ tool: delegate_task, input: { profile: writer, task: "Raise the tide" } }]
  - when: { profile: writer, turn: 1 }
    calls: [{ tool: edit_file, input: { path: "tides.js", old_text: "return 1;", new_text: "return 2;" } }]
  - when: { profile: writer }
    text: "Raised."
  - when: { depth: 0, turn: 1, last: "fail" }
    calls: [{ tool: delegate_task, input: { profile: breaker, task: "Break the tide" } }]
  - when: { profile: breaker, turn: 1 }
    calls: [{ tool: edit_file, input: { path: "tides.js", old_text: "return 2;", new_text: "return 40;" } }]
  - when: { profile: breaker }
    fault: unauthorized
  - when: { depth: 0, tool: delegate_task }
    text: "## Done\\n\\n- one\\n- two"
  - when: { depth: 0, last: "slowly" }
    text: "It took a while."
    latency_ms: 20000
  - when: { depth: 0 }
    text: "Heard you."
`;

const profile = (name: string, more: string) =>
  `---\nname: ${name}\ndescription: Works on tides.\ntools: [read_file, edit_file]\n${more}---\nWork on tides.\n`;

const sitDown = sitDownAtTerminalWith(playbook);

test.skipIf(!hasTmux)(
  `A new user installs, asks, answers, approves, merges, resumes and uninstalls${hasTmux ? "" : " (skipped: tmux is not installed)"}`,
  async () => {
    const person = sitDown(100, 36);
    const home = person.folder("home");
    const project = person.folder("project");
    const git = (...words: readonly string[]) => spawnSync("git", ["-C", project, ...words]);
    writeFileSync(`${project}/tides.js`, "export function tide() {\n  return 1;\n}\n");
    for (const words of ["init -q", "config user.email a@example.org", "config user.name a"]) {
      git(...words.split(" "));
    }
    git("add", "-A");
    git("commit", "-qm", "Begin");

    // A shell as a person has it: nothing of this test's environment but the system's programs.
    const own = (process.env["PATH"] ?? "").split(delimiter);
    const path = own.filter((folder) => !folder.includes("node_modules")).join(delimiter);
    person.say(
      `cd ${project}; exec env -i HOME=${home} PATH=${home}/.local/bin:${path} LANG=C.UTF-8 TERM=$TERM PS1='$ ' sh -im`,
    );
    let step = 0;
    const shell = async (command: string, expected: string | RegExp, code = 0) => {
      step += 1;
      person.say(`clear; ${command}; echo "step ${step} ended with $?"`);
      await person.see(`step ${step} ended with ${code}`);
      await person.see(expected);
    };

    // 1-6: install it, look around, and ask without a model.
    await shell(`npm --prefix ${clone} run -s install-cli 2>&1 | tail -4`, "starts Mandate from");
    await shell("mandate --version", /^\d+\.\d+\.\d+/m);
    await shell("mandate help | head -60", /serve\s.*dashboard/);
    await shell("mandate doctor", "Without a model: mandate demo", 1);
    await shell("mandate init --yes", "mandate.yaml");
    expect(existsSync(`${project}/mandate.yaml`)).toBe(true);
    await shell('mandate run "Hello"', "ANTHROPIC_API_KEY", 2);

    // 7-10: with answers, one run and the next message of its session.
    const agents = `${home}/.config/mandate/agents`;
    spawnSync("mkdir", ["-p", agents]);
    writeFileSync(`${agents}/writer.md`, profile("writer", "workspace: { approval: true }\n"));
    writeFileSync(`${agents}/breaker.md`, profile("breaker", ""));
    const script = person.write("harbour.yaml", playbook);
    await shell(
      `export MANDATE_PLAYBOOK=${script}; mandate run "Ask a sub-agent"`,
      /Done[\s\S]*• one/,
    );
    await shell('mandate run --continue "And now?"', "Heard you.");
    await shell("mandate ls", /succeeded|done|completed/);
    await shell("mandate tree", /general/);

    // 11-14: the chat. What is typed before its screen is up is said.
    const chat = (words = "") =>
      person.say(`clear; sh -c 'echo $$ > ../pid; exec mandate chat ${words}'`);
    chat();
    person.say("Ask a sub-agent");
    await person.see(/✓ researcher#\w+ {2}Count the modules[\s\S]*There are twelve modules\./);
    await person.see(/● Done[\s\S]*• one[\s\S]*• two[\s\S]*context/);
    person.say("Choose a colour");
    await person.see("your answer to general#");
    person.say("blue");
    await person.see(/→ blue[\s\S]*● It is blue now\./);

    // 15-16: an approval with its diff.
    person.say("Let me approve it");
    await person.see(/│ - {2}return 1;\s+│ \+ {2}return 2;[\s\S]*your answer to writer/);
    person.say("yes");
    await person.see(/→ yes[\s\S]*✓ writer#\w+ {2}Raise the tide/);
    await person.see(/● Done[\s\S]*say something/);
    expect(readFileSync(`${project}/tides.js`, "utf8")).toContain("return 2;");

    // 17-20: a failure is explained, looked into, and its kept work merged.
    person.say("Now fail");
    await person.see(/✗ breaker#\w+ {2}Break the tide/);
    const kept = await person.see(/breaker#\w+ left changes in its copy/);
    const [, id = ""] = /breaker#(\w+) left changes/.exec(kept) ?? [];
    person.press("C-t");
    await person.see("Enter opens");
    person.press("Down", "Enter");
    await person.see(/SUMMARY[\s\S]*Contract/);
    person.press("c");
    await person.see(/CHANGES[\s\S]*- {2}return 2;\s+\+ {2}return 40;/);
    person.press("Escape");
    await person.see("Enter opens");
    person.press("Escape");
    await person.see("say something");
    person.say(`/diff ${id}`);
    await person.see(`Not merged yet: /merge ${id}`);
    person.say("/merge");
    await person.see(/Merged into [\s\S]*M tides\.js/);
    expect(readFileSync(`${project}/tides.js`, "utf8")).toContain("return 40;");

    // 21-24: the person's own shell, a file, the history, the cost.
    person.say("!git diff --stat");
    await person.see(/! git diff --stat\s+│ {2}tides\.js/);
    person.type("Look at @ti");
    await person.see("→ @tides.js");
    person.press("Tab");
    await person.see("› Look at @tides.js");
    person.press("Enter");
    await person.see(/› Look at @tides\.js\s+● Heard you\./);
    person.press("C-r");
    person.type("colour");
    await person.see("→ Choose a colour");
    person.press("Escape");
    await person.see("say something");
    person.say("/cost");
    await person.see(/This session: .* in \d runs/);

    // 25-28: killed at work, offered again, resumed, and checked.
    person.say("Work slowly");
    await person.see(/general#\w+ running/);
    person.killProgram();
    await person.see("Killed");
    await person.resetTerminal();
    chat("--continue");
    await person.see(/1 run was interrupted: .*"Work slowly"[\s\S]*Resume it\? \(y\/N\)/);
    person.say("y");
    await person.see(/● It took a while\.[\s\S]*say something/);
    person.say("/quit");
    await person.see("Continue the session: mandate chat --continue");
    await shell("mandate verify", "everything holds");
    await shell("mandate inbox", "Work slowly");

    // 29: and off the machine again.
    await shell(`npm --prefix ${clone} run -s uninstall-cli`, "mandate");
    await shell("mandate --version", "not found", 127);
  },
  600_000,
);
