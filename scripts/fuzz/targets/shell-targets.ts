import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { lexCommand } from "../../../src/tools/shell/lex-command.ts";
import { subjectsOfCommand } from "../../../src/tools/shell/subjects-of-command.ts";
import { longText, nastyPieces, nastyText } from "../hostile-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";

const names = ["git", "rm", "a", "x"];
const pieces = [
  ...["git", "rm", "a", "x", "status", " ", " ", " ", "  ", "\t", "\n", ";", "&&", "||", "|", "&"],
  ...["'", '"', "''", "'a b'", '"a;b"', "'$(rm)'", "2>&1", ">/dev/null", "</dev/null", "x=1", "!"],
  ...[
    "if",
    "then",
    "fi",
    "in",
    "time",
    "~",
    "^",
    "#",
    "\\\n",
    "$'\\x41'",
    "{a,b}",
    "a=b",
    "--",
    "[[",
  ],
];
const lines = fc.oneof(
  fc
    .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 10 })
    .map((parts) => parts.join("")),
  fc
    .array(fc.constantFrom(...pieces, ...nastyPieces), { maxLength: 10 })
    .map((parts) => parts.join("")),
  nastyText,
  longText,
);

export const shellWords = defineTarget({
  name: "shell-words",
  surface: "shell",
  promise: "what a line is said to run is all that a real shell runs, word for word",
  caseMs: 4000,
  cases: 60,
  open() {
    const shell = ["/bin/dash", "/bin/bash", "/bin/sh"].find((each) => existsSync(each));
    const folder = new TestFolder();
    const log = folder.at("log");
    mkdirSync(folder.at("bin"));
    for (const name of names) {
      const file = folder.write(
        `bin/${name}`,
        `#!/bin/sh\nprintf '%s\\0' "\${0##*/}" "$@" '<end>' >> "$LOG"\n`,
      );
      chmodSync(file, 0o755);
    }
    return {
      inputs: lines,
      ...(shell === undefined && { skipped: "there is no shell on this machine" }),
      check(line: string) {
        const commands = lexCommand(line);
        // Words that a shell takes for its own are refused after they were parted.
        if (commands === undefined || subjectsOfCommand(line) === undefined) return;
        // Only what cannot do anything: programs of ours, and names that are none.
        if (commands.some(([first = ""]) => !names.includes(first))) return;
        writeFileSync(log, "");
        const env = { PATH: folder.at("bin"), LOG: log };
        spawnSync(shell ?? "", ["-c", line], {
          env,
          cwd: folder.path,
          timeout: 3000,
          stdio: "ignore",
        });
        const ran = readFileSync(log, "utf8")
          .split("<end>\0")
          .slice(0, -1)
          .map((each) => each.split("\0").slice(0, -1));
        for (const words of ran) {
          assert.ok(
            commands.some((said) => JSON.stringify(said) === JSON.stringify(words)),
            `it ran ${JSON.stringify(words)}`,
          );
        }
      },
      close: () => rmSync(folder.path, { recursive: true, force: true }),
    };
  },
});
