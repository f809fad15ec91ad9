import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { locateFields } from "./locate-fields.ts";
import { placeProblems, readRegistry, writeRegistry } from "./registry-text.ts";

const registry = {
  version: 1,
  agents: [
    { agentId: "@writer", profileId: "writer", description: "Writes: all of it, [fast]." },
    { agentId: "@reader", profileId: "reader", description: "Reads.", tags: ["a", "b"] },
  ],
};
const text = writeRegistry(registry);

describe("the registry as text", () => {
  it("is the same data when it is read again, and hides nothing", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (value) => {
        const written = writeRegistry(value);
        expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(written).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff]/);
      }),
    );
    expect(writeRegistry({ a: "x\u202ey\u{e0041}" })).toBe(
      '{\n  "a": "x\\u202ey\\udb40\\udc41"\n}',
    );
  });

  it("tells the line of whatever is no JSON", () => {
    expect(readRegistry('{\n  "version": 1,\n  "agents": [}\n}\n')).toMatchObject({
      problem: { line: 3 },
    });
    expect(readRegistry("{\n")).toMatchObject({ problem: { line: 2 } });
    expect(readRegistry("[]")).toMatchObject({ problem: { line: 1 } });
  });

  it("tells of a key that is there twice, which a parser would choose from silently", () => {
    const twice = '{ "version": 1,\n"agents": [{ "agentId": "@a",\n"agent\\u0049d": "@b" }] }';
    expect(readRegistry(twice)).toMatchObject({
      problem: { line: 3, field: "agents[0].agentId", message: "This key is there twice." },
    });
    expect(readRegistry('{"__proto__": 1}')).toMatchObject({ problem: { line: 1 } });
  });

  it("reads what is right", () => {
    expect(readRegistry(text)).toEqual({ value: registry });
  });
});

describe("places of fields", () => {
  it("are those of their lines", () => {
    const { lines } = locateFields(text);
    const rows = text.split("\n");
    const at = (path: string) => rows[(lines.get(path) ?? 0) - 1];
    expect(at("version")).toContain('"version"');
    expect(at("agents[0].description")).toContain("[fast]");
    expect(at("agents[1].tags[1]")).toContain('"b"');
    expect(at("agents[1]")).toContain("{");
  });

  it("are there for every value of any data", () => {
    const key = fc.stringMatching(/^[a-z]{1,4}$/);
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.string(),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 3 }),
      ),
    }));
    const count = (value: unknown): number =>
      typeof value === "object" && value !== null
        ? Object.values(value).reduce((sum: number, each) => sum + count(each), 1)
        : 1;
    fc.assert(
      fc.property(tree, (value) => {
        const { lines, twice } = locateFields(writeRegistry(value));
        expect([lines.size, twice]).toEqual([count(value), undefined]);
      }),
    );
  });
});

describe("what a server found", () => {
  it("stands at the line of its field, or of what it is missing in", () => {
    const rows = text.split("\n");
    const said = [
      'agents[1].profileId: there is no profile "reader"',
      "agents[0].tags: must be a list; [] for none",
      'agents[0]: unknown key "description"; did you mean "x"?',
      "version: must be the number 1",
      "something else",
    ].join("\n");
    const found = placeProblems(said, text).map(({ line }) => rows[(line ?? 0) - 1]?.trim());
    expect(found).toEqual([
      '"profileId": "reader",',
      "{",
      '"description": "Writes: all of it, [fast]."',
      '"version": 1,',
      undefined,
    ]);
    expect(placeProblems("version: x", text)[0]).toMatchObject({ field: "version", message: "x" });
  });
});
