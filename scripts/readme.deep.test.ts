import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Desk, until } from "../src/surfaces/cli/desk.test-support.ts";
import { childEnvironment } from "../src/testing/child-environment.test-support.ts";

const root = dirname(import.meta.dirname);

/** What differs between two runs: ids, times and counts. */
function normalized(text: string): readonly string[] {
  return stripVTControlCharacters(text)
    .replaceAll(/\br?[0-9a-f]{6}\b/g, "ID")
    .replaceAll(/\b[0-9a-f]{16}\b/g, "HASH")
    .replaceAll(/\b\d+:\d\d\b/g, "0:00")
    .replaceAll(/\b\d+ events\b/g, "100 events")
    .split("\n")
    .map((line) => line.trimEnd());
}

test("every output that the README shows is printed by the demonstration, killed and started again", async () => {
  const desk = new Desk();
  onTestFinished(() => desk.clear());
  const start = () => {
    const words = [join(root, "src/mandate.ts"), "demo", "--speed", "4"];
    const env = { ...childEnvironment, HOME: desk.home, MANDATE_HOME: desk.home };
    const child = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
      });
    }
    const ended = new Promise((resolve) => child.once("close", resolve));
    return { child, ended, said: () => said };
  };
  const first = start();
  await until(() => first.said().includes("refused (tool_not_granted)"), "a refusal");
  first.child.kill("SIGKILL");
  await first.ended;
  const second = start();
  await second.ended;
  const [, refused = ""] = / show (\w+)/.exec(second.said()) ?? [];
  const shown = await desk.type(["show", refused], {
    environment: { MANDATE_HOME: join(desk.home, "demo") },
    terminal: { columns: 100, rows: 40 },
  });

  const readme = readFileSync(join(root, "README.md"), "utf8");
  const outputs = { "mandate show": shown.out, "mandate demo": second.said() };
  const blocks = [...readme.matchAll(/```text\n\$ (.*)\n([\s\S]*?)```/g)];
  expect(blocks).toHaveLength(Object.keys(outputs).length);
  for (const [, typed = "", text = ""] of blocks) {
    const [, output = ""] = Object.entries(outputs).find(([name]) => typed.includes(name)) ?? [];
    const printed = normalized(output);
    const quoted = normalized(text).filter((line) => line !== "" && line !== "…");
    expect(
      quoted.filter((line) => !printed.includes(line)),
      printed.join("\n"),
    ).toEqual([]);
    const places = quoted.map((line) => printed.indexOf(line));
    expect(places).toEqual(places.toSorted((left, right) => left - right));
  }
}, 60_000);
