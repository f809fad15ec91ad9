/**
 * A process that works on one run until it ends, or dies on the way: `node … JOB.json`. The lead
 * delegates, and says in the end what it was told of its child.
 */

import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defaultConfig } from "../../control/config.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { sleep, systemClock } from "../../ports/clock.ts";
import type { StartedRun } from "../../ports/delegator.ts";
import { createRuntime } from "../../runtime.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { journalsOf } from "../../workspaces/git/copies/working-copy.ts";
import { testProfile } from "../engine-fixture.ts";
import { until } from "../until.ts";
import type { FaultJob } from "./fault-home.test-support.ts";

const job = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as FaultJob;
const { home, workspace } = job;
const marks = join(home, "marks");
if (job.diskBytes !== undefined) appendFileSync(marks, "");

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Whose call is known to have begun, or to be made again. */
const written = new Set<string | undefined>();

const linesOf = (path: string): number =>
  existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;

function tell(message: object): void {
  writeSync(1, `${JSON.stringify(message)}\n`);
}

/** Leaves a mark for each time that it is executed, and takes its process along if it is told to. */
function marking(name: string, idempotent: boolean): Tool {
  return defineTool({
    name,
    description: "Leaves a mark.",
    effect: "exec",
    exposure: noExposure,
    idempotent,
    scopes: [],
    input: z.strictObject({ note: z.string().optional() }),
    async execute(_input, { delegationId }) {
      appendFileSync(marks, `${name}\n`);
      // A process that recovers the run sends nothing again: it is in the log, or was never sent.
      for (const text of job.recovers ? [] : (job.tells ?? [])) {
        await runtime.engine.send(delegationId, text, "person");
      }
      const letsGoAt = systemClock.monotonic() + (job.blocksMs ?? 0);
      while (systemClock.monotonic() < letsGoAt);
      if (job.isStepwise) {
        const made = linesOf(marks);
        await until("it may go on", () => linesOf(join(home, "steps")) >= made);
      }
      if (job.diskBytes !== undefined) fillDisk();
      if (!job.diesInTool) return "marked";
      // What says that it began is on disk before it dies, as with a slow tool.
      await until("its start is written", () => written.has(delegationId));
      die();
      return new Promise(() => undefined);
    },
  });
}

/** Somebody else takes all that is left of the disk. */
function fillDisk(): void {
  const file = openSync(join(home, "filler"), "a");
  for (let size = 65_536; size >= 1; ) {
    try {
      writeSync(file, Buffer.alloc(size));
    } catch {
      size = Math.floor(size / 2);
    }
  }
  closeSync(file);
}

/** Not before the first byte of a merge has been written: its journal is there by then. */
function dieInMerge(): void {
  const folder = journalsOf(home);
  const look = (): void => {
    if (existsSync(folder) && readFileSync(marks, "utf8") !== "") die();
    setImmediate(look);
  };
  look();
}

/** At the commit of an event, in the driver of the database: the store has no idea. */
function dieAtEvent({ event, side }: NonNullable<FaultJob["diesAt"]>): void {
  let isInside = false;
  StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
    apply(run, statement: StatementSync, parameters: unknown[]) {
      const { sourceSQL: sql } = statement;
      if (sql === "COMMIT" && isInside && side === "before") die();
      const done = Reflect.apply(run, statement, parameters);
      if (sql === "COMMIT" && isInside && side === "after") die();
      if (/INSERT INTO event_batches/.test(sql) && String(parameters.at(-1)).includes(event)) {
        isInside = true;
      }
      return done;
    },
  });
}

const child: Script = ({ caller, messages }) => {
  const replies = caller.task === "warm up" ? (job.warmUp ?? []) : job.child;
  return replies[caller.turn - 1] ?? messages.at(-1)?.text ?? "";
};

const lead: Script = ({ caller, messages }) => {
  const input = { profile: "worker", task: caller.task };
  const calls = Array.from({ length: job.children ?? 1 }, () => ({ tool: "delegate_task", input }));
  const told = messages.flatMap((one) => (one.role === "tool" ? one.text : []));
  const reply: ScriptedReply = caller.turn === 1 ? { calls } : { text: `[${told.join(",")}]` };
  return reply;
};

if (job.diesAt) dieAtEvent(job.diesAt);
const { tools, ...rest } = defaultConfig;
const runtime = await createRuntime({
  consent: "named",
  cwd: workspace,
  config: {
    ...rest,
    tools: { ...tools, shell: { ...tools.shell, unsandboxed: job.unsandboxed === true } },
    profiles: [],
    files: [],
  },
  synchronous: "normal",
  scripted: scriptedModel((request) => (request.caller.depth === 0 ? lead : child)(request)),
  tools: [marking("mark", false), marking("look", true)],
  profiles: [
    testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
    testProfile("worker", {
      tools: ["mark", "look", ...(job.tools ?? [])],
      ...(job.timeoutMs !== undefined && { limits: { timeoutMs: job.timeoutMs } }),
    }),
  ],
  limits: { maxRetries: 0, ...job.limits },
  ...(job.watchdog && { watchdog: true }),
});
if (job.diesInMerge) dieInMerge();
if (job.diesKeeping) {
  const { store } = runtime;
  const keep = store.keepArtifact.bind(store);
  store.keepArtifact = async (body) => {
    await keep(body);
    die();
    return new Promise(() => undefined);
  };
}
const acknowledged: string[] = [];
runtime.store.subscribe((events) => {
  acknowledged.push(...events.map(({ hash }) => hash));
  for (const { sub_agent_id: id, type } of events) {
    if (type === "agent.tool_started" || type === "agent.resumed") written.add(id);
  }
});
const began = systemClock.monotonic();
let recovered = await runtime.engine.recover();
// Whoever is only stopped counts as alive until its lease is over.
while (job.recovers === "when lost" && recovered.length === 0) {
  await sleep(systemClock, 50);
  recovered = await runtime.engine.recover();
}
const again = await runtime.engine.recover();
tell({ recovered: recovered.length, again: again.length, ms: systemClock.monotonic() - began });
const start = (task: string): Promise<StartedRun> =>
  runtime.engine.startRun({ task, profile: "lead", ...(job.tools && { workspace }) });
// What every run needs is loaded by the first one.
if (job.warmUp) await (await start("warm up")).result;
const { maxRSS: before } = process.resourceUsage();
const [run = job.recovers ? undefined : await start("go")] = recovered;
const result = await run?.result;
const { maxRSS } = process.resourceUsage();
tell({ result: result ?? null, growthBytes: (maxRSS - before) * 1024, acknowledged });
await runtime.close();
// The small disk ends with us.
if (job.diskBytes !== undefined) cpSync(home, `${home}-kept`, { recursive: true });
// A blocked or deaf tool must not keep it.
process.exit(0);
