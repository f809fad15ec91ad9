import { readUsedLimits, type UsedLimit } from "../../../application/used-limits.ts";
import { loadConfig } from "../../../control/load-config.ts";
import type { LimitValue } from "../../../control/records/limit-records.ts";
import { openQueues } from "../../../open-queues.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { formatAge } from "../amounts.ts";
import { type Arguments, type Command, chosenFrom, jsonOption, text } from "../command.ts";
import { drawTable, titled } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, localUser } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withControlStore } from "../with-store.ts";

export const workersCommand: Command = {
  name: "workers",
  usage: "[options] [list | drain WORKER | resume WORKER]",
  about:
    "Lists the workers of this database. drain keeps one from claiming new work, within seconds and\n" +
    "until resume; it finishes what it has and is not stopped. WORKER is the name in the list, or a\n" +
    "version for all workers of that version, such as 0.1.0. Who drained it is stored.",
  options: { json: jsonOption },
  words: { least: 0, most: 2 },
  examples: ["workers", "workers drain 4f0c9e2b7a11d83356aa01c2", "workers drain 0.1.0"],
  run: (given, io) => runWords("workers", workerWords, given, io),
};

export const queuesCommand: Command = {
  name: "queues",
  usage: "[options] [list | pause QUEUE | resume QUEUE]",
  about:
    "Lists the queues of distributed runs: what waits, what is at work, the limits. pause keeps all\n" +
    "workers from claiming work of a queue, within seconds and until resume; what is at work continues,\n" +
    "so a paused queue drains. Who paused it is stored.",
  options: { json: jsonOption },
  words: { least: 0, most: 2 },
  examples: ["queues", "queues pause gpu", "queues resume gpu"],
  run: (given, io) => runWords("queues", queueWords, given, io),
};

interface Asked {
  readonly given: Arguments;
  readonly io: Io;
  readonly name: string | undefined;
}

type Words = Readonly<Record<string, (asked: Asked) => Promise<void>>>;

async function runWords(command: string, words: Words, given: Arguments, io: Io) {
  const [word, name] = given.words;
  await chosenFrom(command, words, word)({ given, io, name });
  return exitCode.done;
}

const workerWords: Words = {
  list: listWorkers,
  drain: (asked) => setStop(asked, workerScope, true),
  resume: (asked) => setStop(asked, workerScope, false),
};

const queueWords: Words = {
  list: listQueues,
  pause: (asked) => setStop(asked, queueScope, true),
  resume: (asked) => setStop(asked, queueScope, false),
};

type ScopeOf = (name: string, store: Store, io: Io) => Promise<string>;

/** A typing error must not look as if something had been stopped. */
const workerScope: ScopeOf = async (name, store, io) => {
  const workers = (await store.workers?.()) ?? [];
  if (workers.some(({ executor }) => executor === name)) return `worker/${name}`;
  if (/^\d+\.\d+\.\d+/.test(name)) return `version/${name}`;
  throw new MandateError(
    "usage",
    `There is no worker ${JSON.stringify(name)}. List them with: ${io.program} workers. For all workers of a version, name it whole, such as 0.1.0.`,
  );
};

const queueScope: ScopeOf = async (name, _store, io) => {
  const { own } = await loadConfig({ cwd: io.cwd, environment: io.environment });
  const known = [...new Set(["default", ...Object.keys(own.engine.queues)])];
  if (known.includes(name)) return `queue/${name}`;
  throw new MandateError(
    "usage",
    `There is no queue ${JSON.stringify(name)}. Queues: ${known.join(", ")}. Name more under engine.queues of the configuration.`,
  );
};

async function setStop(
  { given, io, name }: Asked,
  scopeOf: ScopeOf,
  isStopped: boolean,
): Promise<void> {
  if (name === undefined) throw new MandateError("usage", `${given.words[0]} takes a name.`);
  await withControlStore(io, async ({ plane }, store) => {
    const scope = await scopeOf(name, store, io);
    const changed = await plane.setStop(scope, isStopped, localUser);
    if (given.flag("json")) return void printJson(io, { scope, stopped: isStopped, changed });
    const state = isStopped ? "takes no new work" : "takes work";
    io.stdout.write(`${printableLine(name)} ${state}${changed ? "" : ", as before"}.\n`);
  });
}

function listWorkers({ given, io }: Asked): Promise<void> {
  return withControlStore(io, async ({ plane }, store) => {
    const stops = new Map((await plane.stops()).map((stop) => [stop.scope as string, stop]));
    const rows = ((await store.workers?.()) ?? []).filter(({ executor }) => executor !== null);
    const workers = rows.map(({ executor, ...row }) => {
      const stop = stops.get(`worker/${executor}`) ?? stops.get(`version/${row.version}`);
      const { aliveUntil, host, isAlive, pid, startedAt, version } = row;
      const drainedBy = stop?.setBy ?? null;
      const goneSince = isAlive ? null : aliveUntil;
      return { worker: executor, version, isAlive, drainedBy, host, pid, startedAt, goneSince };
    });
    if (given.flag("json")) return void printJson(io, { workers });
    if (workers.length === 0)
      io.stderr.write(
        `There are no workers on this database. Start one with: ${io.program} worker\n`,
      );
    if (workers.length === 0) return;
    const columns = titled("WORKER", "STATE", "VERSION", "HOST", "PID", "SINCE");
    const cells = workers.map(({ drainedBy, isAlive, ...row }) => [
      printableLine(row.worker ?? ""),
      isAlive ? (drainedBy === null ? "working" : `drained by ${drainedBy}`) : "gone",
      row.version ?? "unknown",
      printableLine(row.host),
      String(row.pid),
      formatAge(io.now() - row.startedAt),
    ]);
    io.stdout.write(`${drawTable(columns, cells, io).join("\n")}\n`);
  });
}

async function listQueues({ given, io }: Asked): Promise<void> {
  const { own } = await loadConfig({ cwd: io.cwd, environment: io.environment });
  const opened = await openQueues(own);
  try {
    await withControlStore(io, async ({ plane }) => {
      const stops = new Map((await plane.stops()).map((stop) => [stop.scope as string, stop]));
      const found = (await opened?.overview())?.queues ?? [];
      const queues = found.map((queue) => ({
        ...queue,
        pausedBy: stops.get(`queue/${queue.name}`)?.setBy ?? null,
      }));
      if (given.flag("json")) return void printJson(io, { queues });
      if (opened === null) {
        io.stderr.write("Runs are not distributed here (engine.kind: local), so nothing queues.\n");
        return;
      }
      const columns = titled("QUEUE", "STATE", "WAITING", "AT WORK", "SUSPENDED", "LONGEST WAIT");
      const cells = queues.map(({ pausedBy, ...queue }) => [
        printableLine(queue.name),
        pausedBy === null ? "open" : `paused by ${pausedBy}`,
        ...[queue.waiting, queue.working, queue.suspended].map(String),
        queue.waitingSince === null ? "" : formatAge(io.now() - queue.waitingSince),
      ]);
      io.stdout.write(`${drawTable(columns, cells, io).join("\n")}\n`);
    });
  } finally {
    await opened?.close();
  }
}

/** A person who can open the database and read the home owns the installation. */
const owner = { id: "local", role: "admin" } as const;

export const limitsCommand: Command = {
  name: "limits",
  usage: "[options] [list | set SCOPE | remove SCOPE]",
  about:
    "Shows and sets limits on model requests. SCOPE is tenant (everything in this database), queue/NAME\n" +
    "or provider/NAME. All processes keep to them from the next request on. A request that finds a limit\n" +
    "used up waits without a place; one for which the dollars of the day do not suffice ends its\n" +
    "delegation, and `resume` continues it on another day. set replaces all numbers of the scope.",
  options: {
    json: jsonOption,
    concurrency: text("NUMBER", "model requests at the same time"),
    "requests-per-minute": text("NUMBER", "in any sixty seconds"),
    "tokens-per-minute": text("NUMBER", "in any sixty seconds"),
    "dollars-per-day": text("DOLLARS", "from midnight to midnight UTC; only for tenant"),
  },
  words: { least: 0, most: 2 },
  examples: [
    "limits",
    "limits set provider/anthropic --requests-per-minute 300 --concurrency 40",
    "limits set tenant --dollars-per-day 50",
    "limits remove tenant",
  ],
  run: (given, io) => runWords("limits", limitWords, given, io),
};

const limitWords: Words = { list: listLimits, set: setLimit, remove: removeLimit };

function listLimits({ given, io }: Asked): Promise<void> {
  return withControlStore(io, async ({ plane }, store) => {
    const limits = await readUsedLimits(plane, store);
    if (given.flag("json")) return void printJson(io, { limits });
    if (limits.length === 0)
      io.stderr.write(
        `There are no limits on model requests. Set one with: ${io.program} limits set tenant --dollars-per-day 50\n`,
      );
    const { paint } = styleFor(io.stdout, io);
    for (const limit of limits) {
      const age = formatAge(io.now() - limit.setAt);
      const facts = [...numbersOf(limit), `set by ${printableLine(limit.setBy)} ${age}`];
      io.stdout.write(`${paint.strong(limit.scope)}  ${facts.join("  ")}\n`);
    }
  });
}

const units: Readonly<Record<keyof LimitValue, (number: string) => string>> = {
  concurrency: (number) => `${number} at a time`,
  requestsPerMinute: (number) => `${number} requests a minute`,
  tokensPerMinute: (number) => `${number} tokens a minute`,
  dollarsPerDay: (number) => `$${number} a day`,
};

function numbersOf({ used, value }: UsedLimit): readonly string[] {
  const names = Object.keys(units) as (keyof LimitValue)[];
  return names.flatMap((name) => {
    if (value[name] === undefined) return [];
    const now = used === null ? "" : `${Number(used[name].toFixed(4))} of `;
    return [units[name](`${now}${value[name]}`)];
  });
}

async function setLimit({ given, io, name: scope }: Asked): Promise<void> {
  const name = requireScope(scope);
  const value: LimitValue = {
    concurrency: given.count("concurrency"),
    requestsPerMinute: given.count("requests-per-minute"),
    tokensPerMinute: given.count("tokens-per-minute"),
    dollarsPerDay: given.dollars("dollars-per-day"),
  };
  if (Object.values(value).every((number) => number === undefined)) {
    const numbers = Object.keys(limitsCommand.options).filter((option) => option !== "json");
    throw new MandateError(
      "usage",
      `A limit takes at least one number: ${numbers.map((option) => `--${option}`).join(", ")}.`,
    );
  }
  await withControlStore(io, async ({ plane }) => {
    const found = (await plane.limits()).find((limit) => limit.scope === name);
    const limit = await plane.setLimit(name, value, found?.version ?? 0, owner);
    if (given.flag("json")) return void printJson(io, limit);
    io.stdout.write(`Set: ${name}  ${numbersOf({ ...limit, used: null }).join("  ")}\n`);
  });
}

async function removeLimit({ given, io, name: scope }: Asked): Promise<void> {
  const name = requireScope(scope);
  await withControlStore(io, async ({ plane }) => {
    const found = (await plane.limits()).find((limit) => limit.scope === name);
    if (found === undefined) {
      throw new MandateError("usage", `There is no limit for ${printableLine(name)}.`);
    }
    await plane.removeLimit(name, found.version, owner);
    if (given.flag("json")) return void printJson(io, { removed: name });
    io.stdout.write(`Removed the limits of ${name}.\n`);
  });
}

function requireScope(scope: string | undefined): string {
  if (scope !== undefined) return scope;
  throw new MandateError("usage", "Say of what: tenant, queue/NAME or provider/NAME.");
}
