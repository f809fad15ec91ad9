import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { commandContext } from "./command-context.ts";
import { completeCommand } from "./complete-command.ts";
import { hear, operator, viewer, withoutIds } from "./say.test-support.ts";

const scribe = testProfile("scribe", { triggers: { slash: ["note"] } });

async function textsAfter(engine: TestEngine, prefix: string): Promise<readonly string[]> {
  const found = await completeCommand(prefix, commandContext(engine, viewer));
  return found.map(({ text }) => text);
}

describe("what can be typed next", () => {
  it("is a command, a word of a family, or a word that a profile brought", async () => {
    await using engine = await openEngine({ model: () => "Done.", profiles: [scribe] });
    expect(await textsAfter(engine, "/")).toEqual(
      expect.arrayContaining(["/status", "/agents", "/note"]),
    );
    expect(await textsAfter(engine, "/s")).toEqual(["/status", "/sessions", "/spawnagent"]);
    expect(await textsAfter(engine, "/agents p")).toEqual(["/agents pin", "/agents pins"]);
    expect(await textsAfter(engine, "/n")).toEqual(["/note"]);
    expect(await textsAfter(engine, "/help sta")).toEqual(["/help status"]);
    expect(await textsAfter(engine, "/workspace ")).toEqual([
      "/workspace readonly",
      "/workspace writable",
    ]);
    expect(await textsAfter(engine, "/inbox o")).toEqual(["/inbox open"]);
    for (const prefix of ["", "status", " /s", "/nothing ", "/status x", `/${"x".repeat(5000)}`]) {
      expect(await textsAfter(engine, prefix)).toEqual([]);
    }
    const [first] = await completeCommand("/sta", commandContext(engine, viewer));
    expect(first?.description).toBe("Shows what runs: a line for each agent.");
  });

  it("is what there is to be named at the moment", async () => {
    const asks = testProfile("asks", { capabilities: ["primary"], tools: ["ask_user"] });
    await using engine = await openEngine({
      model: ({ caller }) =>
        caller.turn === 1
          ? { calls: [{ tool: "ask_user", input: { message: "Which\u202e one?" } }] }
          : "Done.",
      profiles: [asks, scribe],
    });
    await hear(engine, "/agents register @scribe | scribe | Writes.", operator);
    expect(await textsAfter(engine, "/agents pin @")).toEqual(["/agents pin @scribe"]);
    expect(await textsAfter(engine, "/spawnagent @")).toEqual(["/spawnagent @scribe"]);
    expect(await textsAfter(engine, "/spawnagent as")).toEqual(["/spawnagent asks"]);
    const run = await engine.start({ task: "Choose", profile: "asks" });
    await until("the question", async () => (await textsAfter(engine, "/answer ")).length > 0);
    const context = commandContext(engine, viewer);
    const [ask] = await completeCommand("/answer q", context);
    expect(withoutIds(ask?.text ?? "")).toBe("/answer Q");
    expect(ask?.description).toBe("Which one?");
    const { delegationId, runId } = run;
    expect(await textsAfter(engine, "/cancel ")).toEqual([
      `/cancel ${runId}`,
      `/cancel ${delegationId}`,
    ]);
    expect(await textsAfter(engine, "/tree r")).toEqual([`/tree ${runId}`]);
    await hear(engine, `${ask?.text} this one`, operator);
    await run.result;
    expect(await textsAfter(engine, "/answer ")).toEqual([]);
    expect(await textsAfter(engine, "/cancel ")).toEqual([]);
  });

  it("is found for any text without an error, and always continues that text", async () => {
    await using engine = await openEngine({ model: () => "Done.", profiles: [scribe] });
    const context = commandContext(engine, viewer);
    const pieces = fc.constantFrom(
      ...[
        "/",
        "agents",
        " ",
        "\n",
        "pin",
        "@",
        "help",
        "cancel",
        "spawnagent",
        "\u202e",
        "__proto__",
      ],
      ...["pair", "on", "off", "constructor", "\ud800", "note", "workspace"],
    );
    const texts = fc.array(pieces, { maxLength: 6 }).map((parts) => `/${parts.join("")}`);
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        for (const candidate of await completeCommand(text, context)) {
          expect(candidate.text.startsWith(text)).toBe(true);
        }
      }),
      { numRuns: cases(300) },
    );
  });
});
