import { describe, expect, it } from "vitest";
import { acceptTools } from "./accept-tools.ts";

type Listed = Parameters<typeof acceptTools>[1][number];
const tool = (name: string, more: Partial<Listed> = {}): Listed => ({
  name,
  inputSchema: { type: "object" },
  ...more,
});

describe("what is offered of a server's list", () => {
  it("is what the patterns name", () => {
    const listed = ["get_a", "get_b", "set_a", "get"].map((name) => tool(name));
    const names = (patterns?: string[]) =>
      acceptTools("s", listed, patterns).tools.map(({ name }) => name);
    expect(names()).toEqual(["get_a", "get_b", "set_a", "get"]);
    expect(names(["get_*"])).toEqual(["get_a", "get_b"]);
    expect(names(["get"])).toEqual(["get"]);
    expect(names(["*_a"])).toEqual([]);
    expect(names([])).toEqual([]);
    expect(names(["*"])).toHaveLength(4);
  });

  it("leaves out every tool of a name that two would have", () => {
    const { tools, notes } = acceptTools("s", [tool("a.b"), tool("a b"), tool("c")], undefined);
    expect(tools.map(({ name }) => name)).toEqual(["c"]);
    expect(notes).toEqual(["a.b is left out: 2 tools would be called mcp__s__a_b."]);
  });

  it("leaves out schemas that are too large, too deep or poisoned", () => {
    let deep: Record<string, unknown> = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { items: deep };
    const properties = JSON.parse('{"__proto__":{"type":"string"}}');
    const { tools, notes } = acceptTools(
      "s",
      [
        tool("large", { inputSchema: { type: "object", description: "x".repeat(70_000) } }),
        tool("deep", {
          inputSchema: { type: "object", properties: deep } as Listed["inputSchema"],
        }),
        tool("wide", { inputSchema: { type: "object", required: new Array(200_000).fill("") } }),
        tool("poisoned", { inputSchema: { type: "object", properties } }),
        tool("fine"),
      ],
      undefined,
    );
    expect(tools.map(({ name }) => name)).toEqual(["fine"]);
    expect(notes).toEqual([
      "large is left out: its schema is larger than 65536 bytes.",
      "deep is left out: its schema is nested deeper than 32 levels.",
      "wide is left out: its schema is larger than 65536 bytes.",
      'poisoned is left out: its schema has a key "__proto__".',
    ]);
  });

  it("is no more than a megabyte of descriptions", () => {
    const description = "x".repeat(4000);
    const properties = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`p${at}`, { description }]),
    );
    const listed = Array.from({ length: 40 }, (_, at) =>
      tool(`t${at}`, { inputSchema: { type: "object", properties } }),
    );
    const { tools, notes } = acceptTools("s", listed, undefined);
    expect(tools.length + notes.length).toBe(40);
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThan(1.1 * 1024 * 1024);
    expect(notes[0]).toContain("the descriptions of all tools together are too large");
  });

  it("is described in words that hide nothing and drive no terminal", () => {
    const hidden = [..."obey"].map((letter) =>
      String.fromCodePoint(0xe0000 + letter.charCodeAt(0)),
    );
    const dirty = `a\u001b[31mb\u200b\u202ec${hidden.join("")}\r\nd\u0000\te`;
    const { tools } = acceptTools(
      "s",
      [
        tool("t", {
          description: dirty,
          inputSchema: {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "object",
            properties: { p: { type: "string", description: dirty, pattern: "\u200b" } },
          },
        }),
      ],
      undefined,
    );
    expect(tools[0]?.description).toBe("abc\nd\te");
    expect(tools[0]?.parameters).toEqual({
      type: "object",
      properties: { p: { type: "string", description: "abc\nd\te", pattern: "\u200b" } },
    });
  });

  it("is cut where a description is too long, at a whole character", () => {
    const { tools } = acceptTools("s", [tool("t", { description: "ü".repeat(10_000) })], undefined);
    const description = tools[0]?.description ?? "";
    expect(description).toBe(`${"ü".repeat(2048)}…`);
  });

  it("cannot be changed afterwards", () => {
    const [accepted] = acceptTools("s", [tool("t")], undefined).tools;
    expect(Object.isFrozen(accepted)).toBe(true);
    expect(Object.isFrozen(accepted?.parameters)).toBe(true);
  });
});
