import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { agentIdProblem, parseAgentRegistry } from "./agent-registry.ts";

const isKnown = (id: string) => ["writer", "profile:writer:v1"].includes(id);
const parse = (source: unknown) => parseAgentRegistry(source, isKnown);

const full = {
  agentId: "@writer",
  profileId: "profile:writer:v1",
  description: "Writes clear documents.",
  defaultForwardSkills: ["skill:outlines"],
  allowedForwardSkills: ["skill:outlines", "skill:tables"],
  defaultMcpServers: ["mcp:docs"],
  allowedMcpServers: [],
  tags: ["writing", "technical texts"],
};
const entry = { agentId: "@w-1", profileId: "writer", description: "d" };
const registry = (...agents: unknown[]) => ({ version: 1, agents });
const refusal = (source: unknown): string => {
  try {
    parse(source);
  } catch (error) {
    expect(error).toBeInstanceOf(MandateError);
    expect((error as MandateError).code).toBe("config-invalid");
    return (error as MandateError).message;
  }
  return "accepted";
};

describe("registry schema validation", () => {
  it("takes an entry with every field, from text as from data", () => {
    const whole = registry(full, entry);
    expect(parse(whole)).toEqual(whole);
    expect(parse(JSON.stringify(whole))).toEqual(whole);
  });

  it("leaves absent lists absent and empty ones empty, which mean different things", () => {
    const [only] = parse(registry({ ...entry, allowedForwardSkills: [] })).agents;
    expect(only).toEqual({ ...entry, allowedForwardSkills: [] });
    expect(Object.keys(only ?? {})).not.toContain("allowedMcpServers");
  });

  it.each([
    ["no version", { agents: [] }],
    ["version 2", { version: 2, agents: [] }],
    ["a version in quotes", { version: "1", agents: [] }],
    ["a version that is nearly 1", { version: 1.5, agents: [] }],
  ])("refuses %s", (_, source) => {
    expect(refusal(source)).toBe("version: must be the number 1");
  });

  it.each([
    [registry(entry, { ...entry, agentId: "@W1" }), 'agents[1].agentId: "@W1" must be'],
    [registry({ ...entry, agentId: "@a" }), "agents[0].agentId:"],
    [registry({ ...entry, agentId: `@${"a".repeat(33)}` }), "agents[0].agentId:"],
    [registry({ ...entry, agentId: "writer" }), "agents[0].agentId:"],
    [registry({ ...entry, agentId: "@writer\n" }), "U+000A is none of them"],
    [registry({ ...entry, agentId: 7 }), "agents[0].agentId: must be text"],
    [registry({ ...entry, agentId: { toString: 1 } }), "agents[0].agentId: must be text"],
    [
      registry({ ...entry, profileId: "nobody" }),
      'agents[0].profileId: there is no profile "nobody"',
    ],
    [registry({ ...entry, profileId: undefined }), "agents[0].profileId: must be text"],
    [
      registry(entry, entry, full, { ...entry, description: "" }),
      "agents[3].description: must say",
    ],
    [registry({ ...entry, description: " \n " }), "agents[0].description: must say"],
    [registry({ ...entry, description: ["d"] }), "agents[0].description: must be text"],
    [registry({ ...entry, description: "a\u202eb" }), "agents[0].description: contains U+202E"],
    [registry({ ...entry, description: "a\u{e0041}b" }), "agents[0].description: contains U+E0041"],
    [registry({ ...entry, description: "a\u0000b" }), "agents[0].description: contains U+0000"],
    [registry({ ...entry, description: "a\ud800b" }), "agents[0].description: contains U+D800"],
    [registry({ ...entry, tags: "writing" }), "agents[0].tags: must be a list; [] for none"],
    [registry({ ...entry, tags: null }), "agents[0].tags: must be a list"],
    [registry({ ...entry, tags: ["ok", ""] }), "agents[0].tags[1]: must be a word"],
    [registry({ ...entry, allowedForwardSkills: ["*"] }), "agents[0].allowedForwardSkills[0]:"],
    [registry({ ...entry, allowedMcpServers: ["a b"] }), "agents[0].allowedMcpServers[0]:"],
    [registry({ ...entry, allowedMcpServers: [1] }), "agents[0].allowedMcpServers[0]:"],
    [
      registry({ ...entry, allowedForwardSkils: [] }),
      'agents[0]: unknown key "allowedForwardSkils"; did you mean "allowedForwardSkills"?',
    ],
    [{ ...registry(), owner: "x" }, 'unknown key "owner"; known are version, agents'],
    [registry(entry, "@w"), "agents[1]: must be an object"],
    [registry(null), "agents[0]: must be an object"],
    [{ version: 1 }, "agents: must be a list"],
    [{ version: 1, agents: {} }, "agents: must be a list"],
    [[], "the agent registry: must be an object"],
    [null, "the agent registry: must be an object"],
    [undefined, "the agent registry: not JSON"],
    [() => 1, "the agent registry: not JSON"],
    [1n, "the agent registry: not JSON"],
  ])("names the path of what is wrong: %#", (source, path) => {
    expect(refusal(source)).toContain(path);
  });

  it("takes a description of 300 characters and refuses one of 301, as people count them", () => {
    expect(refusal(registry({ ...entry, description: "😀".repeat(300) }))).toBe("accepted");
    for (const character of ["x", "😀"]) {
      expect(refusal(registry({ ...entry, description: character.repeat(301) }))).toBe(
        "agents[0].description: 301 characters; at most 300",
      );
    }
  });

  it("refuses an id that is there twice, and says where it was first", () => {
    expect(refusal(registry(entry, full, { ...entry, description: "other" }))).toBe(
      'agents[2].agentId: "@w-1" is there twice, first at agents[0]',
    );
  });

  it("tells of ten problems at once, and how many more there are", () => {
    const lines = refusal(registry(...Array.from({ length: 12 }, () => 0))).split("\n");
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe("… and 2 more");
  });

  it.each([
    ["Cyrillic і", "@wr\u0456ter", '"\u0456" (U+0456)'],
    ["Cyrillic а", "@\u0430gent", "(U+0430)"],
    ["Cyrillic е", "@writ\u0435r", "(U+0435)"],
    ["Greek ο", "@c\u03bfder", "(U+03BF)"],
    ["dotless ı", "@wr\u0131ter", "(U+0131)"],
    ["long ſ", "@u\u017fer", "(U+017F)"],
    ["Kelvin K", "@\u212aeeper", "(U+212A)"],
    ["full-width ｗ", "@\uff57riter", "(U+FF57)"],
    ["mathematical 𝚠", "@\u{1d6a0}riter", "(U+1D6A0)"],
    ["Arabic-Indic digit", "@agent\u0661", "(U+0661)"],
    ["full-width digit", "@agent\uff11", "(U+FF11)"],
    ["hyphen of another block", "@co\u2010der", "(U+2010)"],
    ["minus", "@co\u2212der", "(U+2212)"],
    ["full-width low line", "@co\uff3fder", "(U+FF3F)"],
    ["combining accent", "@write\u0301r", "U+0301"],
    ["zero-width space", "@wri\u200bter", "U+200B"],
    ["zero-width joiner", "@wri\u200dter", "U+200D"],
    ["soft hyphen", "@wri\u00adter", "U+00AD"],
    ["right-to-left override", "@\u202eretirw", "U+202E"],
    ["no-break space", "@wri\u00a0ter", "U+00A0"],
    ["NUL", "@wri\u0000ter", "U+0000"],
    ["lone surrogate", "@wri\ud83dter", "U+D83D"],
  ])("refuses a handle with a look-alike, and names it: %s", (_, agentId, name) => {
    const message = refusal(registry({ ...entry, agentId }));
    expect(message).toMatch(/^agents\[0\]\.agentId: /);
    expect(message).toContain(`${name} is none of them`);
  });

  it("refuses a full-width @ before anything else is compared", () => {
    expect(refusal(registry({ ...entry, agentId: "\uff20writer" }))).toMatch(/must be "@"/);
  });

  it("refuses depth bombs of either kind without losing the stack", () => {
    const deep = 100_000;
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const bomb = `{"version":1,"agents":${open.repeat(deep)}1${close.repeat(deep)}}`;
      expect(refusal(bomb)).toMatch(/larger than 256 KB|nested deeper than 32 levels/);
      expect(refusal(open.repeat(deep / 5))).toMatch(/nested deeper than 32 levels/);
    }
    let nested: unknown = [];
    for (let level = 0; level < deep; level += 1) nested = [nested];
    expect(refusal({ version: 1, agents: nested })).toMatch(/not JSON|nested deeper/);
    const circle: unknown[] = [];
    circle.push(circle);
    expect(refusal({ version: 1, agents: circle })).toMatch(/not JSON/);
  });

  it("refuses more than 256 KB before parsing it", () => {
    expect(refusal(`${" ".repeat(256 * 1024)}{"version":1,"agents":[]}`)).toBe(
      "the agent registry: larger than 256 KB",
    );
    const many = Array.from({ length: 2000 }, (_, index) => ({
      ...entry,
      agentId: `@agent-${index}`,
      description: "x".repeat(200),
    }));
    expect(refusal(registry(...many))).toMatch(/larger than 256 KB/);
  });

  it("does not let a prototype speak", () => {
    expect(refusal('{"__proto__":{"version":1},"version":1,"agents":[]}')).toBe(
      'the agent registry: __proto__: "__proto__" cannot be a key',
    );
    const said = JSON.stringify(entry).replace("{", '{"__proto__":{"tags":[]},');
    expect(refusal(`{"version":1,"agents":[${said}]}`)).toContain("agents[0].__proto__");
    expect(refusal(Object.create(registry(entry)))).toContain("version: must be the number 1");
    expect(refusal(registry({ ...entry, constructor: 1 }))).toContain('unknown key "constructor"');
    expect(({} as { version?: number }).version).toBeUndefined();
  });

  it("accepts exactly the ids of the rule, whatever the text", () => {
    const rule = /^@[a-z0-9_-]{2,32}$/;
    const texts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.stringMatching(/^@[a-z0-9_-]{1,34}$/),
      fc.stringMatching(/^@[a-zA-Z0-9_ \-\n]{1,34}$/),
    );
    fc.assert(
      fc.property(texts, (agentId) => {
        expect(agentIdProblem(agentId) === undefined).toBe(rule.test(agentId));
        expect(refusal(registry({ ...entry, agentId })) === "accepted").toBe(rule.test(agentId));
      }),
    );
  });

  it("answers any JSON with a registry or a refusal, and reads its own output as the same", () => {
    const name = fc.constantFrom(
      "version",
      "agents",
      "agentId",
      "profileId",
      "description",
      "tags",
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(1, "writer", "@w-1", "d", null, true, []),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(name, tie("node"), { maxKeys: 5 }),
        fc.constant(entry),
      ),
    })).node;
    fc.assert(
      fc.property(fc.record({ version: fc.constant(1), agents: value }), (source) => {
        if (refusal(source) !== "accepted") return;
        expect(parse(JSON.stringify(parse(source)))).toEqual(source);
      }),
    );
  });
});
