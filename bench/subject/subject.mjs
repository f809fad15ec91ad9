// Mandate as one more subject of the peers' benchmark: the product itself, with its defaults, on a
// database of its own. Switched off: nothing. Raised: limits that the script would run into. What
// was written is verified afterwards: figures of a log that does not hold are no figures.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";

const source = process.env.MANDATE_BENCH_SOURCE ?? new URL("../../dist/", import.meta.url).href;
const extension = source.endsWith("/src/") ? "ts" : "js";
const load = (module) => import(new URL(`${module}.${extension}`, source).href);
const { createRuntime } = await load("runtime");
const { defineTool } = await load("tools/tool");

const usage = { prompt: 1, completion: 1 };

/** The benchmark's agent as a model: it sees the last message and answers by the script. */
function modelFor(agents) {
  return async (request) => {
    const { messages, caller } = request;
    const spec = agents.get(caller.profile);
    const last = messages[messages.length - 1];
    const reply = await spec.respond({
      last: last.role === "tool" ? "tool" : "user",
      lastText: last.text,
      countResults() {
        let count = 0;
        for (const message of messages) if (message.role === "tool") count++;
        return count;
      },
    });
    if (reply.text !== undefined) {
      return { text: reply.text, calls: [], finish: "stop", usage, served: request.model };
    }
    const calls = reply.calls.map(({ id, name, args }) =>
      name === "delegate"
        ? { id, name: "delegate_task", input: { profile: spec.child.name, task: args.task } }
        : { id, name, input: args },
    );
    return { text: "", calls, finish: "tool-calls", usage, served: request.model };
  };
}

function profileOf(agent) {
  return {
    name: agent.name,
    description: agent.instructions,
    capabilities: ["subtask"],
    prompt: agent.instructions,
    tools: agent.child ? ["delegate_task"] : ["tick"],
    ...(agent.child && { mayDelegate: { tools: ["delegate_task", "tick"] } }),
    model: { model: "bench/model" },
    origin: "bench",
  };
}

function tickTool({ description, run }) {
  return defineTool({
    name: "tick",
    description,
    effect: "read",
    exposure: { untrusted: false, private: false, wayOut: false },
    idempotent: true,
    scopes: [],
    input: z.strictObject({ n: z.number() }),
    execute: run,
  });
}

async function verify({ store }) {
  const { checkStore } = await load("events/checker/check-store");
  const { events, delegations, violations } = await checkStore(store);
  if (violations.length === 0) return { events, delegations };
  const [{ invariant, message }] = violations;
  throw new Error(
    `The bench database has ${violations.length} violations; ${invariant}: ${message}`,
  );
}

export async function open({ variant, dir }) {
  const opened = [];
  return {
    async build(spec) {
      const agents = new Map();
      for (let agent = spec; agent; agent = agent.child) agents.set(agent.name, agent);
      const leaf = [...agents.values()].at(-1);
      const runtime = await createRuntime({
        consent: "named",
        environment: { ...process.env, MANDATE_HOME: join(dir, randomBytes(4).toString("hex")) },
        cwd: dir,
        ...(variant === "memory" && { database: ":memory:" }),
        synchronous: variant === "sqlite-full" ? "full" : "normal",
        models: { "bench/model": modelFor(agents) },
        profiles: [...agents.values()].map(profileOf),
        maxConcurrent: 2000,
        limits: {
          maxDepth: 8,
          maxChildren: 2000,
          runTokens: 1e12,
          maxTokens: 1e12,
          defaultTokens: 1e8,
        },
        tools: [tickTool(leaf.tool)],
      });
      opened.push(runtime);
      return async (prompt) => {
        const run = await runtime.engine.startRun({ task: prompt, profile: spec.name });
        const { status, result, closeReason } = await run.result;
        return status === "completed" ? result : `${closeReason}: ${result}`;
      };
    },
    async stats() {
      const sum = { events: 0, delegations: 0 };
      for (const runtime of opened) {
        const { events, delegations } = await verify(runtime);
        sum.events += events;
        sum.delegations += delegations;
      }
      return sum;
    },
    async close() {
      for (const runtime of opened) await runtime.close();
    },
  };
}
