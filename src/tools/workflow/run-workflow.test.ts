import { expect, test } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { head } from "./workflow-run.test-support.ts";

const lead = testProfile("lead", {
  tools: ["run_workflow", "get_delegation_result"],
  mayDelegate: { tools: "*" },
});
const general = testProfile("general", { tools: [] });

test("an agent starts a script in the background, and collects what it returned", async () => {
  const script = `${head}return { both: await parallel([() => agent("one"), () => agent(args.n)]) }`;
  await using mandate = await openEngine({
    profiles: [lead, general],
    model({ caller, messages }) {
      if (caller.profile === "general") return `did ${caller.task}`;
      const last = messages.findLast(({ role }) => role === "tool")?.text;
      if (last === undefined) {
        return { calls: [{ tool: "run_workflow", input: { script, args: { n: "two" } } }] };
      }
      if (!last.startsWith('{"delegationId"') || last.includes("status")) return last;
      const { delegationId } = JSON.parse(last);
      return {
        calls: [{ tool: "get_delegation_result", input: { delegationId, wait_ms: 60_000 } }],
      };
    },
  });
  const { events, result } = await mandate.run({ task: "go", profile: "lead" });
  expect(result.status).toBe("completed");
  expect(result.result).toContain('{\\"both\\":[\\"did one\\",\\"did two\\"]}');
  expect(ofType(events, "agent.workflow_called")).toHaveLength(2);
});

test("an agent cannot start what is refused, or what is not trusted", async () => {
  const inputs = [{ script: "return 1" }, { name: "nothing" }, { name: "a", script: head }, {}];
  const answers: string[] = [];
  await using mandate = await openEngine({
    profiles: [lead, general],
    model({ messages }) {
      const last = messages.at(-1);
      if (last?.role === "tool") answers.push(last.text);
      const input = inputs[answers.length];
      return input === undefined ? "done" : { calls: [{ tool: "run_workflow", input }] };
    },
  });
  await mandate.run({ task: "go", profile: "lead" });
  expect(answers).toEqual([
    expect.stringContaining("script:1:1: The first statement of a workflow is"),
    expect.stringContaining('There is no workflow "nothing"'),
    "Error: give a name or a script.",
    "Error: give a name or a script.",
  ]);
});
