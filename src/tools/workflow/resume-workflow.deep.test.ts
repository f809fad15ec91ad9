import { expect, test } from "vitest";
import type { RunRequest } from "../../ports/delegator.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { conformance } from "./conformance.test-support.ts";
import { echoModel, head, requestOf } from "./workflow-run.test-support.ts";

const options = { profiles: [testProfile("general", { tools: [] })], trustWorkspace: true };

type Settled = { readonly tasks: readonly string[]; readonly result: string };

/** Runs a script until its last agent works, and the process dies there. */
async function dieInLast(mandate: TestEngine, script: string, asked: readonly string[]) {
  const started = await mandate.start(await requestOf(mandate, script));
  await until("the last agent works", () => asked.some((task) => task.includes("ECHO<last>")));
  await until("the others are recorded", async () => {
    const events = await mandate.events(started.runId);
    return asked.length - 1 === ofType(events, "agent.workflow_settled").length;
  });
  mandate.abandon();
  return started;
}

/** Resumes it in another process with another text of the script. */
async function resumeWith(first: TestEngine, rootId: string, script: string): Promise<Settled> {
  const tasks: string[] = [];
  await using second = await first.another({
    ...options,
    model: echoModel(tasks, { faults: false }),
  });
  await second.engine.cancel(rootId, "It is resumed.");
  const fast = script.replace("SLEEP30000", "SLEEP5");
  const request: RunRequest = await requestOf(second, fast, { resumes: rootId });
  const { result } = await second.run(request);
  return { tasks, result: result.result };
}

function caseOf(name: string): string {
  return conformance.resume[name] ?? "";
}

test("after a failure among finished agents, the failed one and the running one run again", async () => {
  const asked: string[] = [];
  await using first = await openEngine({ ...options, model: echoModel(asked) });
  const script = caseOf("failure");
  const { delegationId } = await dieInLast(first, script, asked);
  const { result, tasks } = await resumeWith(first, delegationId, script);
  expect(tasks).toHaveLength(2);
  expect(tasks.join()).toMatch(/ECHO<B>.*ECHO<last>/);
  expect(JSON.parse(result)).toEqual({ rs: ["A", "B", "C", "D", "E", "F"], last: "last" });
});

test("after an insertion at the top, the inserted agent and the running one run", async () => {
  const asked: string[] = [];
  await using first = await openEngine({ ...options, model: echoModel(asked) });
  const { delegationId } = await dieInLast(first, caseOf("edit-before"), asked);
  const { result, tasks } = await resumeWith(first, delegationId, caseOf("edit-after"));
  expect(tasks).toEqual(["ECHO<new>", "SLEEP100 ECHO<last>"]);
  expect(JSON.parse(result)).toMatchObject({ last: "last" });
});

test.each(["pipeline", "identical"])(
  "of a %s whose last agent was cut, that one runs",
  async (name) => {
    const asked: string[] = [];
    await using first = await openEngine({ ...options, model: echoModel(asked) });
    const { delegationId, runId } = await dieInLast(first, caseOf(name), asked);
    const again: string[] = [];
    await using second = await first.another({ ...options, model: echoModel(again) });
    const [recovered] = await second.engine.recover(runId);
    await until("an agent is asked again", () => again.length > 0);
    expect(recovered?.delegationId).toBe(delegationId);
    expect(again).toEqual(["SLEEP30000 ECHO<last>"]);
    await second.engine.cancel(runId, "Enough.");
  },
);

const votes = `${head}
  const shapes = await pipeline([3, 1, 2], (n) => agent("SLEEP" + n + " ECHO<p" + n + ">"), (v) => agent("ECHO<q" + v + ">"))
  await new Promise((resolve) => setTimeout(resolve, 5))
  log(shapes.join())
  const votes = await parallel(Array.from({ length: 3 }, () => () => agent("ECHO<vote>")))
  const child = await workflow("child", { q: 1 })
  return { shapes, votes, child }`;

test("a process may die after any transaction of a workflow, and nothing finished runs again", async () => {
  const { writeChildren } = await import("./workflow-run.test-support.ts");
  let expected = "";
  let total = 0;
  {
    const tasks: string[] = [];
    await using undisturbed = await openEngine({ ...options, model: echoModel(tasks) });
    writeChildren(undisturbed.workspace);
    const { result } = await undisturbed.run(await requestOf(undisturbed, votes));
    expected = result.result;
    total = tasks.length;
    expect(JSON.parse(expected)).toMatchObject({ child: { r: "from child" } });
  }
  for (let commits = 1; ; commits += 1) {
    const asked: string[] = [];
    await using first = await openEngine({ ...options, model: echoModel(asked) });
    writeChildren(first.workspace);
    let seen = 0;
    const died = new Promise<true>((resolve) => {
      first.store.subscribe(() => {
        seen += 1;
        if (seen !== commits) return;
        first.abandon();
        resolve(true);
      });
    });
    const started = first.start(await requestOf(first, votes));
    const finished = started.then(({ result }) => result).then(() => false);
    if (!(await Promise.race([died, finished]))) break;
    const again: string[] = [];
    await using second = await first.another({ ...options, model: echoModel(again) });
    const recovered = await second.engine.recover();
    await Promise.all(recovered.map(({ result }) => result));
    const [row] = await second.store.listRuns({});
    const result = row && (await second.engine.resultOf(row.id));
    expect(result?.result, `after ${commits}`).toBe(expected);
    const events = row ? await second.events(row.id) : [];
    const turns = ofType(events, "agent.model_turn").filter(
      ({ payload }) => payload.requested !== "mandate/workflow",
    );
    expect(turns, `after ${commits}`).toHaveLength(total);
  }
});
