import assert from "node:assert/strict";
import fc, { type Arbitrary } from "fast-check";
import { readJsonc } from "../../../src/agents/foreign/read-data.ts";
import {
  openControlPlane,
  operator,
} from "../../../src/control/records/open-control-plane.test-support.ts";
import { parseStrictJson } from "../../../src/control/records/strict-json.ts";
import { attempt } from "../expect-refusal.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { ambiguousKeys } from "./ambiguous-keys.ts";

const registries: readonly string[] = [
  '{"version":1,"agents":[{"agentId":"@writer","profileId":"writer","description":"Writes"}]}',
  '{"version":1,"agents":[{"agentId":"@a","profileId":"coder","description":"d","tools":["read_file"],"tags":["x"]},\n {"agentId":"@b","profileId":"writer","description":"e"}]}',
];

const jsonWords: readonly string[] = [
  ...['"version"', ":2", '"agents"', '"agentId":"@a"', '"profileId":"nobody"', '"@wrіter"', '"@A"'],
  ...[
    ",]",
    ",}",
    "[[",
    "]]",
    "{{",
    '""',
    "\\u0000",
    "\\ud800",
    "\\x",
    "01",
    "1.",
    ".5",
    "1e5",
    "+1",
  ],
  ...['"tools":"*"', '"tools":[]', '"__proto__":{}', '"\\u005f_proto__":1', "//", "/**/", "\ufeff"],
];

/** Text of each class: what must be read, what must not, and what each reader decides for itself. */
const jsonTexts: Arbitrary<string> = fc.oneof(
  nastyJson.map((value) => JSON.stringify(value)),
  nastyJson.map((value) => JSON.stringify(value, null, "\t")),
  mutatedText([...registries, '[1,2.5e-3,true,null,"a\\u0041\\n",{"a":{"b":[]}}]'], jsonWords),
  fc
    .array(fc.constantFrom(...jsonWords, "[", "]", "{", "}", ",", ":", " ", "1", '"a"'), {
      maxLength: 14,
    })
    .map((parts) => parts.join("")),
  fc
    .tuple(fc.constantFrom("[", '{"a":', '"\\', "[1,", " ", "1", "-", "\\u"), fc.nat(40_000))
    .map(([piece, times]) => piece.repeat(times)),
  nastyText,
);

const caps = { bytes: 100_000, depth: 32, values: 5000 };

export const strictJson = defineTarget({
  name: "strict-json",
  surface: "registry",
  promise:
    "JSON is read exactly when it is JSON that means one thing, and as every other reader would",
  cases: 600,
  open: () => ({
    inputs: jsonTexts,
    check(text: string) {
      const read = parseStrictJson(text, caps);
      let value: unknown;
      let isJson = true;
      try {
        value = JSON.parse(text);
      } catch {
        isJson = false;
      }
      if ("value" in read) {
        assert.ok(isJson, "what is no JSON was read");
        // JSON.parse may give wrong values for escaped keys: see `parseJson`.
        if (!text.includes("\\")) assert.deepEqual(read.value, value);
        assert.deepEqual(ambiguousKeys(text), []);
        return;
      }
      assert.ok(read.problem.length < 1000, read.problem);
      const isRefused = /^(larger than|nested deeper|more than)/.test(read.problem) || !isJson;
      assert.ok(isRefused || ambiguousKeys(text).length > 0, `refused: ${read.problem}`);
    },
  }),
});

export const registryUpdates = defineTarget({
  name: "registry-updates",
  surface: "registry",
  promise:
    "an update of the registry counts as a whole and at the next version, or changes nothing",
  cases: 250,
  open() {
    const opened = openControlPlane();
    return {
      inputs: fc.record({
        source: fc.oneof(jsonTexts, mutatedText(registries, jsonWords), nastyJson),
        isOld: fc.boolean(),
      }),
      async check({ isOld, source }: { isOld: boolean; source: unknown }) {
        const before = await opened.plane.registry();
        const expected = before.version - (isOld ? 1 : 0);
        const update = await attempt(() =>
          opened.plane.replaceRegistry(source, expected, operator),
        );
        const after = await opened.plane.registry();
        if ("refusal" in update) assert.deepEqual(after, before);
        else {
          assert.equal(isOld, false);
          assert.equal(after.version, before.version + 1);
          for (const { agentId, description, profileId } of after.registry.agents) {
            assert.match(agentId, /^@[a-z0-9_-]{2,32}$/);
            assert.ok(opened.profiles.has(profileId), profileId);
            assert.ok(description.length <= 300);
          }
        }
      },
      close: () => opened[Symbol.asyncDispose](),
    };
  },
});

export const controlDocuments = defineTarget({
  name: "control-documents",
  surface: "registry",
  promise:
    "a document is applied as a whole or not at all, and what is exported applies without a change",
  cases: 150,
  open() {
    const opened = openControlPlane();
    const documents = [
      '{"version":1,"agents":[],"profiles":{"mine":{"description":"d","prompt":"p","tools":["read_file"]}},"pins":{"global":"mine"}}',
      '{"version":1,"profiles":{"mine":null,"other":{"description":"d","prompt":"p"}},"pins":{"workspace:/a":"writer","global":null}}',
      ...registries,
    ];
    const words = [
      ...jsonWords,
      '"pins"',
      '"global"',
      '"workspace:',
      '"session:x":"writer"',
      "null",
    ];
    return {
      inputs: fc.oneof(
        mutatedText(documents, words),
        nastyJson.map((value) => JSON.stringify(value)),
      ),
      async check(source: string) {
        const before = await opened.plane.exportDocument(operator);
        const applied = await attempt(() => opened.plane.apply(source, operator));
        const after = await opened.plane.exportDocument(operator);
        if ("refusal" in applied) assert.deepEqual(after, before);
        await opened.plane.apply(after, operator);
        assert.deepEqual(await opened.plane.exportDocument(operator), after);
      },
      close: () => opened[Symbol.asyncDispose](),
    };
  },
});

export const jsonWithComments = defineTarget({
  name: "json-with-comments",
  surface: "registry",
  promise: "JSON with comments is data without a prototype of its own, or it is told what is wrong",
  cases: 300,
  open: () => ({
    inputs: fc.oneof(
      jsonTexts,
      mutatedText(['{\n // a\n "agent": {"x": {"tools": {"bash": false,},},},\n}'], jsonWords),
    ),
    check(text: string) {
      const read = readJsonc(text);
      if ("problem" in read) {
        assert.ok(read.line >= 1 && read.line <= text.split("\n").length, read.problem);
        return;
      }
      assert.ok(!JSON.stringify(read.value).includes('"__proto__":'));
      for (const { line } of read.duplicates) assert.ok(line >= 1);
    },
  }),
});
