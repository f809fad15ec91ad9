import { globSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { StoredEvent } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { alterDatabase, isOnPostgres, notOffered } from "../testing/alter-database.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../testing/engine-fixture.ts";
import { defineTool } from "../tools/tool.ts";
import { fence, quoteProse } from "./export-markdown.ts";
import { exportSession, type SessionFormat } from "./export-session.ts";
import { harmlessJson, harmlessText } from "./harmless-text.ts";
import { readSession } from "./read-session.ts";
import { Transcript } from "./transcript.ts";

const dump = defineTool({
  name: "dump",
  description: "Says much.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({ size: z.number() }),
  execute: ({ size }) => `${"line of a long output\n".repeat(size)}`,
});

const profiles = [testProfile("talker", { tools: ["dump"], capabilities: ["primary"] })];

/** Everything that a terminal, a page or an editor could be made to obey. */
const hostile = [
  "\u001b]0;renamed\u0007\u001b[2J\u009b31m red \u202e desrever \u200b\ufeff",
  "\r\u0000\u0008\u007f \u2028 \ud800 alone",
  "</details><script>alert(1)</script><img src=x onerror=alert(1)>",
  "# A heading\n## Person, now\n\n````\nnot the end of a fence\n```",
  "![pixel](http://tracker.example/x.png) [click](javascript:alert(1))",
].join("\n");

const speaking: Script = ({ caller, messages }) => {
  if (messages.at(-1)?.role === "tool") return `Done.\n${hostile}`;
  const size = messages.at(-1)?.text.includes("much") ? 20_000 : 2;
  const calls = [{ tool: "dump", input: { size } }];
  return { text: `Turn ${caller.turn}: ${hostile}`, calls };
};

async function exported(mandate: TestEngine, id: string, format: SessionFormat): Promise<string> {
  let text = "";
  for await (const piece of exportSession(mandate.store, id, format)) text += piece;
  return text;
}

async function talk(mandate: TestEngine): Promise<{ readonly id: string; readonly runId: string }> {
  const first = await mandate.run({ task: `say much\n${hostile}`, profile: "talker" });
  const second = await mandate.engine.continueSession(first.runId, "once more");
  expect((await second.result).status).toBe("completed");
  return { id: second.delegationId, runId: first.runId };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\ufeff]/;

const options = { profiles, model: speaking, tools: [dump] };

describe("a session as Markdown", () => {
  it("has nothing that a terminal would obey, and hides nothing of what was there", async () => {
    await using mandate = await openEngine(options);
    const { id } = await talk(mandate);
    const text = await exported(mandate, id, "markdown");
    expect(text).not.toMatch(obeyed);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain("␛]0;renamed␇␛[2J");
    expect(text).toContain("\\u{202e}");
    expect(text).toContain("\\u{d800}");
  });

  it("cannot be broken out of: headings, pictures and tags of others are only shown", async () => {
    await using mandate = await openEngine(options);
    const { id } = await talk(mandate);
    const outside = outsideOfFences(await exported(mandate, id, "markdown"));
    expect(outside).not.toMatch(/<script|<img|!\[|javascript:/);
    expect(outside.match(/^# .*$/gm)).toEqual(["# say much"]);
    const headings = outside.match(/^## \w+/gm);
    expect(headings).toEqual([
      ...["## Person", "## talker", "## talker"],
      ...["## Person", "## talker", "## talker"],
    ]);
    expect(outside.match(/<details>/g)).toHaveLength(2);
    expect(outside.match(/<\/details>/g)).toHaveLength(2);
  });

  it("folds calls, and says where the whole of a long output is", async () => {
    await using mandate = await openEngine(options);
    const { id } = await talk(mandate);
    const text = await exported(mandate, id, "markdown");
    expect(text).toContain("<details><summary>dump: done</summary>");
    expect(text).toMatch(/\*All 440000 bytes of it are kept as [0-9a-f]{64}\.\*/);
  });
});

describe("a session as JSONL", () => {
  it("is lossless: its events give the conversation back, to the letter", async () => {
    await using mandate = await openEngine(options);
    const { id, runId } = await talk(mandate);
    const text = await exported(mandate, id, "jsonl");
    expect(text).not.toMatch(obeyed);
    const records = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records[0]).toMatchObject({ record: "session", version: 1, sessionId: id });
    const events = records.flatMap(({ record, ...rest }) => (record === "event" ? [rest] : []));
    const ofFirst = events.filter((event) => event.run_id === runId);
    expect(ofFirst).toEqual(await mandate.events(runId));
    const transcript = new Transcript(`Task:\nsay much\n${hostile}`);
    for (const event of ofFirst as StoredEvent[]) transcript.apply(event);
    expect(transcript.messages.at(-1)?.text).toBe(`Done.\n${hostile}`);
    const artifact = records.find(({ record }) => record === "artifact");
    expect(artifact.text).toBe("line of a long output\n".repeat(20_000));
    expect(records.filter(({ record }) => record === "contract")).toHaveLength(2);
    expect(records.find(({ record }) => record === "prompt").text).toBe("You are talker.");
  });
});

describe("what is damaged", () => {
  it("is said where it stood, and nothing else is lost", async () => {
    await using mandate = await openEngine({ ...options, breaks: ["I1", "I2", "I7", "I15"] });
    const { id } = await talk(mandate);
    const [broken] = await alterDatabase(
      mandate,
      "SELECT first_seq FROM event_batches WHERE events LIKE '%Done.%' ORDER BY 1 LIMIT 1",
    );
    const seq = Number(broken?.["first_seq"]);
    const cut = `UPDATE event_batches SET events = '[["x' WHERE first_seq = ${seq}`;
    await alterDatabase(mandate, cut);
    await alterDatabase(mandate, "UPDATE texts SET body = 'something else'");
    // Who wrote it may still know what it wrote.
    const reader = await mandate.another(options);
    const session = await readSession(reader.store, id);
    expect(session.problems).toEqual([expect.stringContaining(`${seq}`)]);
    const kinds = session.entries.map(({ kind }) => kind);
    expect(kinds.slice(0, 4)).toEqual(["person", "agent", "call", "lost"]);
    expect(kinds.filter((kind) => kind === "person")).toHaveLength(2);
    expect(session.context?.status).toBe("completed");
    const markdown = await exported(reader, id, "markdown");
    expect(markdown).toContain("- Damaged: 1 places cannot be read");
    expect(markdown).toContain("**[Something is missing here:");
    expect(markdown).toContain("once more");
    const jsonl = await exported(reader, id, "jsonl");
    expect(jsonl).toMatch(/"record":"lost","runId":"\w+","problem":"events? \d+/);
    expect(jsonl).toContain("has changed");
  });

  it("can be the first event, a contract or an artifact: the rest is exported", async ({
    skip,
  }) => {
    skip(isOnPostgres, notOffered.folder);
    await using mandate = await openEngine({ ...options, breaks: ["I1", "I2", "I7", "I8", "I15"] });
    const { id, runId } = await talk(mandate);
    const [artifact] = globSync("artifacts/*/*", { cwd: mandate.home });
    rmSync(join(mandate.home, artifact ?? ""));
    expect(await exported(mandate, id, "markdown")).toMatch(
      /missing here: the artifact .* is missing/,
    );
    expect(await exported(mandate, id, "jsonl")).toMatch(
      /the artifact \w+ of 440000 bytes is missing/,
    );
    writeFileSync(join(mandate.home, artifact ?? ""), "forged");
    expect(await exported(mandate, id, "jsonl")).toContain("has changed");

    const second = await mandate.another(options);
    await alterDatabase(
      mandate,
      "UPDATE event_batches SET events = '!' WHERE events LIKE '%\"run.started\"%'",
    );
    const session = await readSession(second.store, id);
    expect(session.context).toBeNull();
    expect(session.entries.filter(({ kind }) => kind === "agent")).toHaveLength(2);
    expect(await exported(second, runId, "markdown")).toContain("Done.");

    const third = await mandate.another(options);
    await alterDatabase(mandate, "UPDATE sub_agents SET context_json = '{}'");
    await expect(exported(third, id, "markdown")).rejects.toMatchObject({
      code: "database-unusable",
    });
    await expect(third.engine.continueSession(id, "go on")).rejects.toThrow();
  });

  it("does not hide a session whose contract alone was changed", async () => {
    await using mandate = await openEngine({ ...options, breaks: ["I2"] });
    const { id } = await talk(mandate);
    await alterDatabase(
      mandate,
      "UPDATE sub_agents SET context_json = replace(context_json, 'once', 'twice')",
    );
    const reader = await mandate.another(options);
    const session = await readSession(reader.store, id);
    expect(session.context).toBeNull();
    expect(session.problems).toEqual([
      expect.stringContaining("is not the one it was created with"),
    ]);
    expect(session.entries.filter(({ kind }) => kind === "person")).toHaveLength(2);
    await expect(reader.engine.continueSession(id, "go on")).rejects.toMatchObject({
      code: "contract-invalid",
    });
  });

  it("is refused when there is nothing of that name, or no such format", async () => {
    await using mandate = await openEngine(options);
    await expect(exported(mandate, "ffffff", "jsonl")).rejects.toMatchObject({
      code: "unknown-delegation",
    });
    await expect(exported(mandate, "ffffff", "pdf" as SessionFormat)).rejects.toMatchObject({
      code: "usage",
    });
  });
});

describe("texts of others", () => {
  const any = fc.string({ unit: "binary", maxLength: 200 });

  it("become harmless, and JSON of them is the same value", () => {
    fc.assert(
      fc.property(any, (text) => {
        expect(harmlessText(text)).not.toMatch(obeyed);
        const json = harmlessJson({ text });
        expect(json).not.toMatch(obeyed);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
  });

  it("never end the block that they stand in", () => {
    const lines = fc.array(fc.oneof(any, fc.constantFrom("```", "````", "~~~", "> x", "# y", "")));
    fc.assert(
      fc.property(lines, (parts) => {
        const text = parts.join("\n");
        const [opening = "", ...rest] = fence(text).split("\n");
        expect(rest.filter((line) => line.startsWith(opening))).toEqual([opening]);
        const quoted = quoteProse(text).split("\n");
        const isQuote = quoted.every((line) => line.startsWith(">"));
        expect(isQuote || /^`{3,}$/.test(quoted[0] ?? "")).toBe(true);
      }),
    );
  });
});

/** What is left of a document without its blocks of code and its quotations. */
function outsideOfFences(text: string): string {
  const kept: string[] = [];
  let mark = "";
  for (const line of text.split("\n")) {
    if (mark !== "") {
      if (line === mark) mark = "";
      continue;
    }
    mark = /^`{3,}/.exec(line)?.[0] ?? "";
    if (mark === "" && !line.startsWith(">")) kept.push(line);
  }
  expect(mark).toBe("");
  return kept.join("\n");
}
