import { expect, test } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { conformance } from "./conformance.test-support.ts";
import { echoModel, requestOf, writeChildren } from "./workflow-run.test-support.ts";

const options = { profiles: [testProfile("general", { tools: [] })], trustWorkspace: true };

test("every primitive gives, returns null or throws as in the original", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  writeChildren(mandate.workspace);
  const { result } = await mandate.run(await requestOf(mandate, conformance.semantics.script));
  expect(result).toMatchObject({ status: "completed" });
  const found: Record<string, unknown> = JSON.parse(result.result);
  const { budget, ...expected } = conformance.semantics.expected;
  for (const [name, value] of Object.entries(expected)) {
    // The name of the error is the runtime's own.
    if (typeof value === "string" && value.startsWith("THROWS")) {
      expect(found[name], name).toMatch(/^THREW \w*Error: /);
      if (value.endsWith(" TypeError")) expect(found[name], name).toMatch(/^THREW TypeError: /);
    } else expect(found[name], name).toEqual(value);
  }
  expect(found["budget"]).toEqual([null, expect.any(Number), "Infinity"]);
  expect(budget).toHaveLength(3);
});

const accepted = conformance.parse.filter(({ status }) => status !== undefined);

test("the conformance cases have forty scripts that run", () => {
  expect(accepted).toHaveLength(40);
});

test.each([0, 10, 20, 30])(
  "ten accepted scripts of the parse cases, from number %i, end as in the original with its results",
  async (from) => {
    await using mandate = await openEngine({ ...options, model: echoModel() });
    for (const { id, result: expected, script, status } of accepted.slice(from, from + 10)) {
      const { result } = await mandate.run(await requestOf(mandate, script));
      expect([id, result.status], result.result).toEqual([id, status]);
      if (status === "failed") continue;
      const isText = typeof expected === "string";
      expect([id, isText ? result.result : JSON.parse(result.result)]).toEqual([id, expected]);
    }
  },
);

test("agents are delegations with labels, and phases and lines are recorded", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const script = `phase("One"); log("begun")
    const [a, b] = await parallel([() => agent("ECHO<x>", { label: "first" }), () => agent("ECHO<y>", { phase: "Two" })])
    return { a, b, args }`;
  const request = await requestOf(mandate, script, { args: { n: 1 } });
  const { events, result } = await mandate.run(request);
  expect(JSON.parse(result.result)).toEqual({ a: "x", b: "y", args: { n: 1 } });
  expect(result.subDelegations).toHaveLength(2);
  const created = ofType(events, "agent.subagent_created").map(({ payload }) => payload.title);
  expect(created.slice(1)).toEqual(["first", "ECHO<y>"]);
  expect(ofType(events, "agent.workflow_called").map(({ payload }) => payload)).toMatchObject([
    { kind: "agent", label: "first", phase: "One" },
    { kind: "agent", label: "ECHO<y>", phase: "Two" },
  ]);
  expect(ofType(events, "agent.workflow_noted").map(({ payload }) => payload.text)).toEqual([
    "One",
    "begun",
  ]);
});

test("a script that throws fails the run, with the place", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const { result } = await mandate.run(await requestOf(mandate, "\nthrow new Error('boom')"));
  expect(result).toMatchObject({ status: "failed", outcome: "failed" });
  expect(result.result).toMatch(/The workflow failed\. Error: boom \(workflow:3:\d+\)/);
});

test("a script that returns while agents work is complete at once", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const script = "agent('SLEEP600000 ECHO<late>'); await agent('ECHO<x>'); return 'first'";
  const { result } = await mandate.run(await requestOf(mandate, script));
  expect(result).toMatchObject({ status: "completed", outcome: "succeeded", result: "first" });
});

test("a script that waits for nothing fails", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const { result } = await mandate.run(await requestOf(mandate, "await new Promise(() => {})"));
  expect(result.result).toContain("waits for something that never happens");
});

test("patterns of a schema are matched in linear time, and a wrong answer throws", async () => {
  await using mandate = await openEngine({
    ...options,
    model: ({ caller }) => JSON.stringify({ id: caller.task }),
  });
  const script = `const schema = { type: "object", required: ["id"], properties: { id: { type: "string", pattern: "^([a-z]+)+-[0-9]+$" } } }
    const right = await agent("ab-12", { schema })
    try { await agent("${"a".repeat(40)}!", { schema }) } catch (error) { return [right.id, error.message] }`;
  const { result } = await mandate.run(await requestOf(mandate, script));
  const message = "The answer does not match the pattern ^([a-z]+)+-[0-9]+$.";
  expect(JSON.parse(result.result)).toEqual(["ab-12", message]);
});

test("a script continues without an agent type that is not there", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const script = `return await agent("ECHO<x>", { agentType: "finder" }).catch((error) => {
    if (!String(error).includes("not found")) throw error
    return agent("ECHO<y>")
  })`;
  const { result } = await mandate.run(await requestOf(mandate, script));
  expect(result.result).toBe("y");
});
