import { defaultConfig } from "../../src/control/config.ts";
import { openEngine, testProfile } from "../../src/testing/engine-fixture.ts";
import { type Bar, ratio } from "./bar.ts";

const profiles = [
  testProfile("boss", { capabilities: ["primary"], tools: ["delegate_task"] }),
  testProfile("general", { tools: [] }),
];

/** `openEngine`, with as many children as both sides of the bar need. */
function open(agents: number) {
  return openEngine({
    profiles,
    config: { limits: { ...defaultConfig.limits, maxChildren: 2 * agents } },
    model({ caller: { profile, task, turn } }) {
      if (profile !== "boss") return `did ${task}`;
      if (turn > 1) return "done";
      const input = (place: number) => ({ profile: "general", task: `n${place}` });
      return {
        calls: Array.from({ length: agents }, (_, place) => {
          return { tool: "delegate_task", input: input(place) };
        }),
      };
    },
  });
}

/** Workflow scripts over the delegations that they are. */
export const workflowBars: readonly Bar[] = [
  {
    name: "workflows: 1,000 agents of a script",
    about: "over 1,000 calls of delegate_task in one turn",
    atMost: 1.3,
    async measure() {
      const agents = 1000;
      await using engine = await open(agents);
      const script = `export const meta = { name: "m", description: "d" }
        const all = await parallel(Array.from({ length: ${agents} }, (_, i) => () => agent("n" + i)))
        return all.filter(Boolean).length`;
      const { hash } = await engine.store.keepArtifact(JSON.stringify({ script }));
      const context = `workflow ${hash}`;
      const flow = { task: "m: d", profile: "workflow-runner", context, workspace: null };
      const plain = { task: "go", profile: "boss", workspace: null, maxTokens: 1e9 };
      return await ratio(
        async () => requireDone((await engine.run(flow)).result.result, "1000"),
        async () => requireDone((await engine.run(plain)).result.result, "done"),
        { rounds: 5, leastUs: 1 },
      );
    },
  },
];

function requireDone(result: string, expected: string): void {
  if (result !== expected) throw new Error(`The run ended with: ${result.slice(0, 200)}`);
}
