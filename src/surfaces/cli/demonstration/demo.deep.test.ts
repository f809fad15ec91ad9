import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { childEnvironment } from "../../../testing/child-environment.test-support.ts";
import { Desk, until } from "../desk.test-support.ts";

const binary = fileURLToPath(new URL("../../../mandate.ts", import.meta.url));

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

interface Started {
  readonly process: ChildProcess;
  readonly code: Promise<number | null>;
  out(): string;
  err(): string;
}

/** The real program, in a process of its own. */
function start(words: readonly string[], before: readonly string[] = []): Started {
  let out = "";
  let err = "";
  const child = spawn(process.execPath, [...before, binary, ...words], {
    env: { ...childEnvironment, HOME: desk.home, MANDATE_HOME: desk.home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { process: child, code, out: () => out, err: () => err };
}

function resultIn(text: string): string {
  return /\nResult\n([\s\S]*?)\n✓ verified/.exec(text)?.[1] ?? "";
}

test("killed in the middle and started again, it goes on and ends with the same result", async () => {
  const undisturbed = await desk.type(["demo", "--speed", "50"]);
  expect(undisturbed.code).toBe(0);
  const expected = resultIn(undisturbed.out);
  expect(expected).toContain("harbour 1.1.0");
  const release = readFileSync(join(desk.home, "demo-harbour", "RELEASE.md"), "utf8");

  const killed = start(["demo", "--serve", "--port", "0", "--speed", "6"]);
  await until(() => killed.err().includes("refused (tool_not_granted)"), "a refusal");
  killed.process.kill("SIGKILL");
  expect(await killed.code).toBe(null);

  const again = start(["demo", "--speed", "6"]);
  expect(await again.code).toBe(0);
  expect(again.err()).toMatch(
    /r\w+ was interrupted and continues where it stopped: Prepare release/,
  );
  expect(resultIn(again.out())).toBe(expected);
  expect(again.out()).toMatch(/recovered \d+ times? after a kill/);
  expect(again.out()).toMatch(
    /✓ verified: \d+ events and 10 delegations in this log keep every promise/,
  );
  expect(readFileSync(join(desk.home, "demo-harbour", "RELEASE.md"), "utf8")).toBe(release);

  const home = join(desk.home, "demo");
  const command = /mandate\.ts (show \w+)/.exec(again.out())?.[1]?.split(" ") ?? [];
  const shown = await desk.type(command, { environment: { MANDATE_HOME: home } });
  expect(shown.out).toMatch(
    /⊘ write_file \(tool_not_granted\)[\s\S]*⊘ read_file \(path_outside_workspace\)/,
  );
  const runs = await desk.type(["ls", "--json"], { environment: { MANDATE_HOME: home } });
  expect(JSON.parse(runs.out).map(({ state }: { state: string }) => state)).toEqual([
    "succeeded",
    "succeeded",
  ]);
}, 60_000);

test("one that is at work already is left alone: the next takes another folder", async () => {
  const first = desk.start(["demo", "--speed", "5"]);
  await until(() => first.soFar().err.includes("created as coder"), "the first one's work");
  const second = await desk.type(["demo", "--speed", "50"]);
  expect(second.code).toBe(0);
  expect(second.err).toContain(join(desk.home, "demo-harbour-2"));
  expect(second.err).not.toContain("was interrupted");
  expect((await first.done).code).toBe(0);
});

test("nobody's configuration takes part in it", async () => {
  desk.write("mandate.yaml", "agents: { delegation: { enabled: false, maxConcurrent: 1 } }\n");
  expect((await desk.type(["demo", "--speed", "50"])).code).toBe(0);
});

const trace = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) {
    process.stderr.write("loads " + url + "\\n");
    return next(url, context);
  } });
`)}`;

test("looking at runs loads no schemas, models, profiles or engine", async () => {
  const listing = start(["ls"], ["--import", trace]);
  expect(await listing.code).toBe(0);
  const loaded = listing
    .err()
    .split("\n")
    .filter((line) => line.startsWith("loads file:"));
  expect(loaded.length).toBeGreaterThan(10);
  // Hashes of trusted configuration come from profile-hash.ts, which reads no profile.
  const forbidden =
    /node_modules|src\/(models|agents\/(?!documents|profiles\/profile-hash)|tools|delegations|workspaces\/(?!processes)|runtime\.ts)/;
  expect(loaded.filter((line) => forbidden.test(line))).toEqual([]);
});

test("the version is told before anything else is loaded", async () => {
  const version = start(["--version"], ["--import", trace]);
  expect(await version.code).toBe(0);
  expect(version.out()).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(version.err().match(/loads file:/g)).toHaveLength(1);
});
