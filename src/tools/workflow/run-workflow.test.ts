import { expect, test } from "vitest";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import type { ModelRequest } from "../../ports/model.ts";
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

/** Starts a workflow, reads its result, and then calls `run_workflow` with each of these inputs. */
function callsAfter(inputs: (first: string) => readonly object[], asked: string[]) {
  let first = "";
  let next = 0;
  return ({ caller, messages }: ModelRequest): ScriptedReply => {
    const last = messages.findLast(({ role }) => role === "tool")?.text;
    if (caller.profile === "general") {
      asked.push(caller.task);
      if (caller.task === "two" && asked.filter((one) => one === "two").length === 1) {
        return { fault: "rejected" };
      }
      return { text: `did ${caller.task}` };
    }
    if (last === undefined) return { calls: [{ tool: "run_workflow", input: { script: both } }] };
    const started = /^\{"delegationId":"([0-9a-f]+)"\}$/.exec(last)?.[1];
    if (started !== undefined) {
      first ||= started;
      const input = { delegationId: started, wait_ms: 60_000 };
      return { calls: [{ tool: "get_delegation_result", input }] };
    }
    const input = inputs(first)[next];
    next += 1;
    return input === undefined ? { text: last } : { calls: [{ tool: "run_workflow", input }] };
  };
}

const both = `${head}return await parallel(["one", "two"].map((n) => () => agent(n + (args ?? ""))))`;

test("an agent resumes a workflow that it started: only what failed runs again", async () => {
  const asked: string[] = [];
  const edited = both.replace('["one", "two"]', '["one", "two", "three"]');
  await using mandate = await openEngine({
    profiles: [lead, general],
    limits: { maxRetries: 0 },
    model: callsAfter((id) => [{ resume: id }, { resume: id, script: edited }], asked),
  });
  const { events, result } = await mandate.run({ task: "go", profile: "lead" });
  expect(result.result).toContain('["did one","did two","did three"]'.replaceAll('"', '\\"'));
  expect(asked.sort()).toEqual(["one", "three", "two", "two", "two"]);
  const taken = ofType(events, "agent.workflow_called").filter(({ payload }) => payload.taken_from);
  expect(taken.map(({ payload }) => payload.label)).toEqual(["one", "one"]);
});

test("an agent resumes no workflow of others, and none that has not ended", async () => {
  const asked: string[] = [];
  await using mandate = await openEngine({
    profiles: [lead, general, testProfile("open", { tools: ["delegate_task"] })],
    model: callsAfter(() => [], asked),
  });
  const other = await mandate.run({ task: "go", profile: "lead" });
  const [theirs] = ofType(other.events, "agent.workflow_started");
  const id = theirs?.sub_agent_id ?? "";
  const answers: string[] = [];
  await using second = await mandate.another({
    profiles: [
      lead,
      general,
      testProfile("forger", { tools: ["delegate_task"], mayDelegate: { tools: "*" } }),
    ],
    model({ caller, messages }) {
      if (caller.profile === "general") return `again ${caller.task}`;
      const last = messages.at(-1);
      if (last?.role === "tool") answers.push(last.text);
      if (answers.length > 0) return answers.at(-1) ?? "";
      if (caller.profile === "lead")
        return { calls: [{ tool: "run_workflow", input: { resume: id } }] };
      const input = { profile: "workflow-runner", task: "m", context: `workflow ${forged}` };
      return { calls: [{ tool: "delegate_task", input }] };
    },
  });
  const document = JSON.stringify({ script: both, resumes: id });
  const { hash: forged } = await second.store.keepArtifact(document);
  await second.run({ task: "go", profile: "lead" });
  expect(answers.splice(0)).toEqual([
    `Error: there is no workflow ${id} that this agent can resume.`,
  ]);
  // A document that was forged names it, and its results are not taken.
  await second.run({ task: "go", profile: "forger" });
  expect(answers[0]).toContain('[\\"again one\\",\\"again two\\"]');
});
