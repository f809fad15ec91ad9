import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { lexCommand } from "./lex-command.ts";
import { subjectsOfArguments, subjectsOfCommand } from "./subjects-of-command.ts";

describe("the simple commands of a line", () => {
  it("are its words, quotes removed", () => {
    expect(lexCommand("git status && rm x")).toEqual([
      ["git", "status"],
      ["rm", "x"],
    ]);
    expect(lexCommand(`a 'b c'"d  e"f '' ""`)).toEqual([["a", "b cd  ef", "", ""]]);
    expect(lexCommand("a;b|c||d&e\nf")).toEqual([["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]);
    expect(lexCommand("  a\tb  \n\n c ;")).toEqual([["a", "b"], ["c"]]);
    expect(lexCommand("a >/dev/null 2>&1 </dev/null b")).toEqual([["a", "b"]]);
    expect(lexCommand("a 'x\ny' '$(z)'")).toEqual([["a", "x\ny", "$(z)"]]);
  });

  it("are not told when the shell would do more than split words", () => {
    const lines = [
      ...["", " ", "\n", "a $b", "a `b`", 'a "$b"', "a (b)", "a {b,c}", "a *", "a ?", "a [b]"],
      ...["a > b", "a < b", "a << b", "a 3>&1", "a >&3", "a \\b", 'a "\\b"', "a # b", "~/a", "a ~"],
      ...["a 'b", 'a "b', "a\r", "a\u0001", "a é", "a\u00a0b", "a && && b", "; a", "| a", "a ;; b"],
      ...["a\0b", "a 'b\rc'", "!a", "a=1$b c", "a >/dev/nullb", "x".repeat(20_000)],
    ];
    expect(lines.filter((line) => lexCommand(line) !== undefined)).toEqual([]);
  });

  it("are written in one way, so that a rule need not know the others", () => {
    const values = (line: string) => subjectsOfCommand(line)?.values;
    expect(values(`git  'status'   "-s"`)).toEqual(["git status -s"]);
    expect(values("git commit -m 'a b'")).toEqual(["git commit -m 'a b'"]);
    expect(values(`git commit -m "it's"`)).toEqual(["git commit -m 'it'\\''s'"]);
    expect(values("/usr/bin/git status")).toEqual(["/usr/bin/git status", "git status"]);
  });
});

/** Real shells, with programs that write down how they were called and nothing else. */
describe("what a line is said to run", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "mandate-lexer-"));
    mkdirSync(join(folder, "bin"));
    for (const name of ["git", "rm", "a", "b", "x"]) {
      const file = join(folder, "bin", name);
      writeFileSync(file, `#!/bin/sh\nprintf '%s\\0' "\${0##*/}" "$@" '<end>' >> "$LOG"\n`);
      chmodSync(file, 0o755);
    }
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const piece = fc.constantFrom(
    ...["git", "rm", "a", "b", "x", "'git'", "r", "m", "status", "-c", "--", "1", "2"],
    ...[" ", " ", " ", " ", "  ", "\t", "\n", ";", "&&", "||", "|", "&", " && ", " ; ", " | "],
    ...[
      "'",
      '"',
      "''",
      "' '",
      '" "',
      "'a b'",
      '"a;b"',
      "\\",
      "$",
      "`",
      "(",
      ")",
      "{",
      "}",
      "<",
      ">",
    ],
    ...[
      "2>&1",
      ">/dev/null",
      "</dev/null",
      "2>",
      "#",
      "*",
      "?",
      "!",
      "~",
      "^",
      "=",
      "x=1",
      "%",
      "@",
    ],
    ...[
      "$(rm)",
      "$x",
      "\r",
      "é",
      "\u00a0",
      "+",
      ":",
      ",",
      ".",
      "/",
      "if",
      "then",
      "fi",
      "time",
      "in",
    ],
  );
  const line = fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join(""));

  describe.each(["/bin/dash", "/bin/bash", "/bin/sh"])("is all that %s", (shell) => {
    const isThere = existsSync(shell);
    it.skipIf(!isThere)(isThere ? "runs" : "would run (skipped: it is not installed)", () => {
      compare(shell);
    });
  });

  function compare(shell: string): void {
    const compared = cases(400, 80);
    const lines = fc
      .sample(line, { numRuns: compared * 100, seed: 7 })
      .filter((text) => subjectsOfCommand(text) !== undefined)
      .slice(0, compared);
    expect(lines.length).toBe(compared);
    const driver = `n=0; for line; do LOG="$PWD/log-$n" ${shell} -c "$line"; n=$((n+1)); done; wait`;
    const env = { PATH: join(folder, "bin") };
    spawnSync("/bin/sh", ["-c", driver, "sh", ...lines], { cwd: folder, env, stdio: "ignore" });
    let ran = 0;
    for (const [index, text] of lines.entries()) {
      const log = join(folder, `log-${index}`);
      if (!existsSync(log)) continue;
      const told = subjectsOfCommand(text)?.values ?? [];
      for (const call of readFileSync(log, "utf8").split("<end>\0").slice(0, -1)) {
        ran++;
        const argv = call.split("\0").slice(0, -1);
        const [value] = subjectsOfArguments(argv)?.values ?? [];
        expect(told, `${JSON.stringify(text)} ran ${JSON.stringify(argv)}`).toContain(value);
      }
      rmSync(log);
    }
    expect(ran).toBeGreaterThan(compared / 5);
  }
});
