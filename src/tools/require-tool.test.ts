import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime } from "../runtime.ts";
import { defineTool, type Tool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";

const whole = {
  name: "look_up",
  description: "Looks something up.",
  effect: "read",
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
  ["exposure", { exposure: { wayOut: true } }],
  ["input", { input: { type: "object" } }],
  ["execute", { execute: undefined }],
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
