import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { namedProgram } from "../../workspaces/processes/find-program.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { createGrepFiles, grepTool } from "./grep-files.ts";
import { findRipgrep } from "./search/ripgrep.ts";

const ripgrep = await findRipgrep();
const grepFiles = createGrepFiles();

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each([
  ["with ripgrep", findRipgrep, ripgrep !== null],
  ["without ripgrep", async (): Promise<null> => null, true],
] as const)("%s", (_, locate, isThere) => {
  const tool = grepTool(locate);
  const inBoth = test.skipIf(!isThere);

  async function grep(root: string, input: object): Promise<string> {
    return (await callTool(tool, input, contextFor(root))).text;
  }

  inBoth("lines come with path and number, in the order of paths", async () => {
    const root = makeTree({ "b.ts": "x\nfoo\n", "a/c.ts": "foo 1\nbar\nfoo 2", "a.ts": "FOO" });
    expect(await grep(root, { pattern: "foo" })).toBe("a/c.ts:1:foo 1\na/c.ts:3:foo 2\nb.ts:2:foo");
    expect(await grep(root, { pattern: "foo", output: "files" })).toBe("a/c.ts\nb.ts");
    expect(await grep(root, { pattern: "foo", output: "count" })).toBe("a/c.ts:2\nb.ts:1");
    expect(await grep(root, { pattern: "foo", ignore_case: true, output: "files" })).toBe(
      "a/c.ts\na.ts\nb.ts",
    );
    expect(await grep(root, { pattern: "foo", path: "b.ts" })).toBe("b.ts:2:foo");
    expect(await grep(root, { pattern: "foo", glob: "a/*" })).toBe(
      "a/c.ts:1:foo 1\na/c.ts:3:foo 2",
    );
  });

  inBoth("lines around a match are told from it, and gaps are marked", async () => {
    const lines = ["1", "2", "foo a", "4", "foo b", "6", "7", "8", "9", "foo c"];
    const root = makeTree({ a: lines.join("\n"), b: "foo\r\nend\r\n" });
    expect(await grep(root, { pattern: "foo", context: 1 })).toBe(
      [
        ...["a-2-2", "a:3:foo a", "a-4-4", "a:5:foo b", "a-6-6", "--", "a-9-9", "a:10:foo c"],
        ...["--", "b:1:foo", "b-2-end"],
      ].join("\n"),
    );
  });

  inBoth("the limit counts lines, or files, and is said", async () => {
    const root = makeTree({ a: "foo\nfoo\nfoo\n", b: "foo\n" });
    const more = /\n\[2 matching lines shown, and there are more\. /;
    expect(await grep(root, { pattern: "foo", limit: 2 })).toMatch(more);
    expect(await grep(root, { pattern: "foo", limit: 3 })).toMatch(
      /^a:1:.*\na:2:.*\na:3:.*\n\[3 m/,
    );
    expect(await grep(root, { pattern: "foo", limit: 4 })).not.toContain("[");
    const files = await grep(root, { pattern: "foo", limit: 1, output: "files" });
    expect(files).toMatch(/^a\n\[1 files shown/);
  });

  inBoth("a long line shows what lies around the match, cut between characters", async () => {
    const root = makeTree({ a: `${"é".repeat(5000)}foo${"ü".repeat(5000)}\nnext foo` });
    const text = await grep(root, { pattern: "foo" });
    expect(text).toMatch(/^a:1:…é+fooü+…\na:2:next foo$/);
    expect(text.length).toBeLessThan(600);
  });

  inBoth(
    "hidden files are searched; ignored, binary and linked ones and .git are not",
    async () => {
      const root = makeTree({
        ...{ ".gitignore": "*.log\n", ".env": "foo", "a.log": "foo", ".git/config": "foo" },
        ...{ "node_modules/m/i.js": "foo", bin: "foo\0foo", late: `${"x\n".repeat(5000)}foo\0` },
      });
      symlinkSync(".env", join(root, "link"));
      expect(await grep(root, { pattern: "foo", output: "files" })).toBe(".env\nlate");
      const all = { pattern: "foo", output: "files", include_ignored: true };
      expect(await grep(root, all)).toBe(".env\na.log\nlate\nnode_modules/m/i.js");
    },
  );

  inBoth("ends of lines: $ stands before either kind, and a return can be asked for", async () => {
    const root = makeTree({ dos: "foo\r\nbar\r\n", unix: "foo\nbar\n", bom: "\ufefffoo\n" });
    const find = (pattern: string) => grep(root, { pattern, output: "files" });
    expect(await find("^foo$")).toBe("bom\ndos\nunix");
    expect(await find("\\r$")).toBe("dos");
    expect(await find("o\\s")).toMatch(/^No line/);
  });

  inBoth("a name with a line break cannot pass for a result", async () => {
    const root = makeTree({ "x\ny:1:z": "foo", "-e": "foo", "a:b": "foo" });
    expect(await grep(root, { pattern: "foo" })).toBe('-e:1:foo\na:b:1:foo\n"x\\ny:1:z":1:foo');
  });

  inBoth("a pattern that is refused is refused in the same words, whatever is there", async () => {
    const root = makeTree({ a: "aa" });
    for (const pattern of ["(?=a)", "(a)\\1", "a\\nb", "[a", "*", "a{9999}", "\\Aa"]) {
      const result = await callTool(tool, { pattern }, contextFor(root));
      expect(result).toEqual({ isError: true, text: expect.stringMatching(/^The pattern/) });
    }
  });

  inBoth("nothing found, no such file and a pipe are told apart", async () => {
    const root = makeTree({ a: "x" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    expect(await grep(root, { pattern: "foo" })).toMatch(/^No line below "\." matches\./);
    const gone = await callTool(tool, { pattern: "x", path: "gone" }, contextFor(root));
    expect(gone).toMatchObject({ isError: true });
    const pipe = callTool(tool, { pattern: "x", path: "pipe" }, contextFor(root));
    await expect(pipe).rejects.toMatchObject({ rule: "path_not_regular" });
    expect(await grep(root, { pattern: "x" })).toBe("a:1:x");
  });

  inBoth("the answer ends before it fills everything", async () => {
    const root = makeTree({ a: `foo ${"y".repeat(450)}\n`.repeat(3000), b: "foo\n" });
    const text = await grep(root, { pattern: "foo", limit: 5000 });
    expect(Buffer.byteLength(text)).toBeLessThan(60 * 1024);
    expect(text).toMatch(/\[\d+ matching lines shown, and there are more/);
  });

  inBoth("a cancelled search stops", async () => {
    const root = makeTree({ a: "foo" });
    const context = { ...contextFor(root), signal: AbortSignal.abort() };
    const input = tool.input.parse({ pattern: "foo" });
    await expect(tool.execute(input, context)).rejects.toThrow(/abort/);
  });

  inBoth(
    "a pattern made to be slow leaves the process its turns",
    async () => {
      let random = 7;
      const letter = () => {
        random = (random * 16807) % 2147483647;
        return random % 7 === 0 ? "a" : "b";
      };
      const root = makeTree({
        a: `c${Array.from({ length: 20_000 }, letter).join("")}\n`.repeat(5),
      });
      let turns = 0;
      const count = () => {
        turns += 1;
        next = setImmediate(count);
      };
      let next = setImmediate(count);
      await grep(root, { pattern: "(a|b)*(a?){50}a.{60}c" });
      clearImmediate(next);
      expect(turns).toBeGreaterThan(1);
    },
    60_000,
  );
});

test("a program that lies in the workspace is not taken for ripgrep", async () => {
  const root = makeTree({ a: "foo", rg: '#!/bin/sh\ntouch "$(dirname "$0")/ran"\n' });
  chmodSync(join(root, "rg"), 0o755);
  const context = contextFor(root);
  vi.stubEnv("PATH", `${root}:${process.env["PATH"]}`);
  const { text } = await callTool(grepTool(findRipgrep), { pattern: "foo" }, context);
  expect(text).toBe("a:1:foo");
  expect(existsSync(join(root, "ran"))).toBe(false);
});

test("a ripgrep that fails, lies or hangs up changes nothing but the time", async () => {
  const root = makeTree({ a: "foo", b: "foo" });
  for (const body of [
    "exit 2",
    "kill -9 $$",
    `printf '${root}/zzz\\0../secret\\0${root}/a\\0${root}/b\\0'`,
    "exit 7",
  ]) {
    const program = join(makeTree({ rg: `#!/bin/sh\n${body}\n` }), "rg");
    chmodSync(program, 0o755);
    const tool = grepTool(async () => namedProgram(program));
    const { text } = await callTool(tool, { pattern: "foo" }, contextFor(root));
    expect([body, text]).toEqual([body, "a:1:foo\nb:1:foo"]);
  }
  const gone = grepTool(async () => namedProgram("/nowhere/rg"));
  expect((await callTool(gone, { pattern: "foo" }, contextFor(root))).text).toBe(
    "a:1:foo\nb:1:foo",
  );
});

test.skipIf(ripgrep === null)(
  "ripgrep gets neither our environment nor a configuration",
  async () => {
    const root = makeTree({ a: "foo", config: "--invert-match\n" });
    const spy = join(
      makeTree({ rg: `#!/bin/sh\nenv > "$(dirname "$0")/env"\nexec ${ripgrep?.file} "$@"\n` }),
      "rg",
    );
    chmodSync(spy, 0o755);
    vi.stubEnv("RIPGREP_CONFIG_PATH", join(root, "config"));
    vi.stubEnv("MANDATE_TEST_SECRET", "canary");
    const tool = grepTool(async () => namedProgram(spy));
    expect((await callTool(tool, { pattern: "foo" }, contextFor(root))).text).toBe("a:1:foo");
    const seen = execFileSync("cat", [join(spy, "../env")]).toString();
    expect(seen).not.toMatch(/canary|RIPGREP|HOME=/);
  },
);

test("what a call is about is every file it would look into", async () => {
  const root = makeTree({ "src/a.ts": "", "secrets/k": "", "b.md": "" });
  const context = contextFor(root);
  const about = async (input: object) =>
    (await grepFiles.about?.(grepFiles.input.parse(input), context))?.values;
  expect(await about({ pattern: "x" })).toEqual(["b.md", "secrets/k", "src/a.ts"]);
  expect(await about({ pattern: "x", glob: "*.ts" })).toEqual(["src/a.ts"]);
  expect(await about({ pattern: "x", path: "./src/../b.md" })).toEqual(["b.md"]);
  writeFileSync(join(root, ".gitignore"), "secrets\n");
  expect(await about({ pattern: "x", include_ignored: true })).toContain("secrets/k");
});

test.each([
  {},
  { pattern: "" },
  { pattern: "a", path: "" },
  { pattern: "a".repeat(5000) },
  { pattern: "\ud800" },
  { pattern: "a", output: "all" },
  { pattern: "a", context: 21 },
  { pattern: "a", limit: 0 },
  { pattern: "a", "--pre": "sh" },
])("input %# is refused by the schema", (input) => {
  expect(grepFiles.input.safeParse(input).success).toBe(false);
});
