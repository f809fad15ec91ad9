import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime } from "../runtime.ts";
import { defineTool, type Tool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";

const whole = {
  name: "look_up",
  description: "Looks something up.",
  effect: "read",
  exposure: { untrusted: false, private: false, wayOut: false },
  idempotent: true,
  scopes: [],
  input: z.strictObject({}),
  execute: () => "found",
} as const;

const faults: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["name", { name: undefined }],
  ["description", { description: undefined }],
  ["description", { description: "" }],
  ["effect", { effect: undefined }],
  ["effect", { effect: "harmless" }],
  ["effect", { effect: "toString" }],
  ["idempotent", { idempotent: undefined }],
  ["scopes", { scopes: undefined }],
  ["scopes", { scopes: "web" }],
  ["exposure", { exposure: undefined }],
  ["exposure", { exposure: { wayOut: true } }],
  ["input", { input: { type: "object" } }],
  ["execute", { execute: undefined }],
  ["waits", { waits: "children" }],
  ["polls", { polls: true }],
  ["changes", { changes: "some" }],
  ["changes", { changes: "none", effect: "write" }],
  ["savesMemory", { savesMemory: "yes" }],
  ["choosesFrom", { choosesFrom: "tools" }],
  ["onlyFor", { onlyFor: "subtask" }],
];

test.each(faults)(
  "a tool without a usable %s is refused where it is defined or registered",
  (field, fault) => {
    const tool = { ...whole, ...fault } as unknown as Tool;
    const sentence = new RegExp(`^(?:The tool "look_up"|A tool) has no usable "${field}": write `);
    expect(() => defineTool(tool)).toThrow(sentence);
    expect(() => new Toolbox([tool])).toThrow(sentence);
  },
);

test("a tool that does not say what it does with information is told what to declare", async () => {
  const { exposure: _exposure, ...silent } = whole;
  const tools = [silent as unknown as Tool];
  const opening = createRuntime({ consent: "named", tools, database: ":memory:", environment: {} });
  await expect(opening).rejects.toThrow(
    /"exposure": write \{ untrusted, private, wayOut \}.*untrusted: true where .*private: true where .*wayOut: true where/,
  );
});

test("a misspelt field of a definition is told, and an object of a class may hold more", () => {
  expect(() => defineTool({ ...whole, exposre: {} } as unknown as Tool)).toThrow(
    'defineTool("look_up"): "exposre" is not known here. Did you mean "exposure"?',
  );
  expect(new Toolbox([{ ...whole, cache: 1 } as unknown as Tool]).names).toEqual(["look_up"]);
});

test("what is no tool at all opens nothing", async () => {
  for (const tool of [undefined, null, "look_up"]) {
    const tools = [tool as unknown as Tool];
    const opening = createRuntime({
      consent: "named",
      tools,
      database: ":memory:",
      environment: {},
    });
    await expect(opening).rejects.toThrow("A tool is an object");
  }
});
