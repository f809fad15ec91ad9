import { expect, test } from "vitest";
import { z } from "zod";
import { readSession } from "../../sessions/read-session.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { entriesOfSession } from "./entry.ts";

const asking = defineTool({
  name: "ask_around",
  description: "Asks a helper, and a person",
  effect: "spawn",
  exposure: { untrusted: false, private: false, wayOut: false },
  idempotent: true,
  scopes: [],
  waits: true,
  input: z.strictObject({ target: z.enum(["helper", "person"]) }),
  async execute({ target }, { delegator }) {
    if (target === "person") {
      const outcome = await delegator.ask("Which one?");
      return outcome.answered ? outcome.answer : "nobody";
    }
    const outcome = await delegator.start({ task: "look", profile: "helper" }, "delegate");
    if (!outcome.started) return { text: outcome.reason, isError: true };
    return delegator.results.joinAndComplete(outcome.delegationId, ({ result }) => ({
      text: result,
    }));
  },
});

test("a call whose child or question is shown has no line of its own, whatever its tool is called", async () => {
  const calls = [
    { tool: "ask_around", input: { target: "helper" } },
    { tool: "ask_around", input: { target: "person" } },
    { tool: "list_sub_agents", input: {} },
  ];
  await using engine = await openEngine({
    tools: [asking],
    profiles: [
      testProfile("lead", { tools: calls.map(({ tool }) => tool) }),
      testProfile("helper"),
    ],
    model: ({ caller: { profile, turn } }) => {
      const call = profile === "lead" ? calls[turn - 1] : undefined;
      return call === undefined ? `said by ${profile}` : { calls: [call] };
    },
  });
  const { delegationId, result, runId } = await engine.start({ task: "go", profile: "lead" });
  const ask = await until("the question is open", async () => {
    const lead = (await engine.store.readRun(runId))?.delegations.get(delegationId);
    return lead?.status === "running" && lead.ask;
  });
  await engine.engine.answer(ask.id, "the left");
  await result;
  const session = await readSession(engine.store, delegationId);
  const shown = entriesOfSession(session, "mandate").map((entry) =>
    entry.kind === "line" ? entry.who.replace(/#.*/, "") : entry.kind,
  );
  expect(shown).toEqual(["person", "helper", "question", "list_sub_agents", "agent"]);
});
