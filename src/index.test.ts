import { spawnSync } from "node:child_process";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "./testing/test-folder.test-support.ts";

let home: string;

beforeEach(() => {
  home = testFolder();
});

const trace = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) {
    process.stderr.write("loads " + url + "\\n");
    return next(url, context);
  } });
`)}`;

/** The files that a program loads, which starts as users' programs do. */
function filesLoadedBy(program: string): readonly string[] {
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", trace, "--input-type=module", "-e", program],
    {
      encoding: "utf8",
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home, MANDATE_HOME: home },
    },
  );
  expect(status, stderr.slice(-2000)).toBe(0);
  return stderr.split("\n").filter((line) => line.startsWith("loads file:"));
}

function entry(path: string): string {
  return JSON.stringify(new URL(path, import.meta.url).href);
}

test("importing the package loads what it exports and nothing besides", () => {
  const files = filesLoadedBy(`await import(${entry("index.ts")});`);
  expect(files.map((file) => /src\/(.*)$/.exec(file)?.[1] ?? file).sort()).toEqual([
    "agents/documents/nearest-key.ts",
    "contracts/narrow-limits.ts",
    "contracts/selection.ts",
    "events/cause.ts",
    "events/close-reason.ts",
    "events/summarize.ts",
    "index.ts",
    "ports/mandate-error.ts",
    "ports/model.ts",
    "ports/visible-text.ts",
    "surfaces/library/mandate.ts",
    "text.ts",
    "tools/tool.ts",
  ]);
});

test("the client loads nothing but itself", () => {
  const files = filesLoadedBy(`await import(${entry("surfaces/client/mandate-client.ts")});`);
  expect(files.filter((file) => !file.includes("/src/surfaces/client/"))).toEqual([]);
});

/** A delegation needs two of the installed packages: schemas, and YAML for the shipped profiles. */
test("a delegation loads no surface, provider, server or parser that it does not use", () => {
  const files = filesLoadedBy(`
    const { createMandate } = await import(${entry("index.ts")});
    const { scriptedModel } = await import(${entry("models/scripted/scripted-model.ts")});
    const mandate = await createMandate({
      database: ":memory:",
      scripted: scriptedModel(() => "Done."),
    });
    const { status } = await mandate.delegate({ profile: "summarizer", task: "Be quick." });
    if (status !== "completed") process.exitCode = 1;
    await mandate.close();
  `);
  const packages = files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
  expect([...new Set(packages)].filter((name) => name !== undefined).sort()).toEqual([
    "yaml",
    "zod",
  ]);
  const heavy =
    /src\/(surfaces\/(cli|http|mcp|tui)|stores\/(postgres|dbos)|agents\/foreign\/dialects)\//;
  expect(files.filter((file) => heavy.test(file))).toEqual([]);
});
