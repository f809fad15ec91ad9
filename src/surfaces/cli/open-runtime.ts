import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describeWaiting, waitingContent } from "../../application/waiting-content.ts";
import { type Role, roles } from "../../control/records/principal.ts";
import { quote } from "../../control/records/shown-text.ts";
import { formatLog, type Log, type LogFormat, logFormats } from "../../ports/log.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime, RuntimeOptions } from "../../runtime.ts";
import { type Arguments, type CommandOption, flag, text } from "./command.ts";
import type { Io } from "./io.ts";
import { printable, printableLine } from "./printable.ts";

/** The options of every command that puts agents to work. */
export const runtimeOptions: Readonly<Record<string, CommandOption>> = {
  playbook: text("FILE", "scripted answers instead of a language model"),
  model: text("PROVIDER/MODEL", "the default model; a profile may have its own"),
  "answer-default": text("TEXT", "the answer to questions of agents that are not answered in time"),
  "answer-within": text("TIME", "how long a question waits (15m)"),
  unsandboxed: flag("run commands without a sandbox where this machine has none, for this call"),
  speed: text("NUMBER", "divide the waits of a playbook by this"),
};

/** Makes a runtime from flags and environment. It recovers runs of `application` only. */
export async function openRuntime(
  given: Arguments,
  io: Io,
  application: string,
  extra: Partial<Omit<RuntimeOptions, "consent">> = {},
): Promise<Runtime> {
  // Loaded when needed: help, and a server before its first request, do without the engine.
  const { createRuntime } = await import("../../runtime.ts");
  const file = playbookOf(application);
  const model = given.text("model");
  const askDefault = given.text("answer-default");
  const askDeadlineMs = given.duration("answer-within");
  const speed = given.count("speed");
  const runtime = await createRuntime({
    consent: "given",
    environment: io.environment,
    cwd: io.cwd,
    application,
    ...(io.ownsProcess && { watchdog: true }),
    ...(file !== undefined && { playbook: { file, ...(speed && { speed }) } }),
    flags: {
      ...(model !== undefined && { model }),
      ...(given.flag("unsandboxed") && { unsandboxed: true }),
    },
    ...extra,
    limits: {
      ...(askDefault !== undefined && { askDefault }),
      ...(askDeadlineMs !== undefined && { askDeadlineMs }),
      ...extra.limits,
    },
  });
  const waiting = describeWaiting(waitingContent(runtime.control), io.program);
  if (waiting !== undefined) io.stderr.write(`${printableLine(waiting)}\n`);
  return runtime;
}

/** Opens a runtime, and closes it whatever happens. */
export async function withRuntime<Value>(
  given: Arguments,
  io: Io,
  application: string,
  use: (runtime: Runtime) => Promise<Value>,
): Promise<Value> {
  const runtime = await openRuntime(given, io, application);
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

/** Options of the commands that start work. */
export const folderOption = text("DIR", "the folder it works in (this one)", "C");
export const readOnlyOption = flag("no agent may write in the workspace, at any depth");
export const limitOptions: Readonly<Record<string, CommandOption>> = {
  "max-tokens": text("NUMBER", "for the agent and all its sub-agents"),
  "max-cost": text("DOLLARS", "the same in US dollars: 2.50"),
  timeout: text("TIME", "for all of it: 90s, 5m, 1h"),
};

export function limitsOf(given: Arguments) {
  return {
    maxTokens: given.count("max-tokens"),
    maxCost: given.dollars("max-cost"),
    timeoutMs: given.duration("timeout"),
  };
}

/** The playbook that was asked for, by flag or environment. */
export function chosenPlaybook(given: Arguments, io: Io): string | undefined {
  const file = given.text("playbook") ?? (io.environment["MANDATE_PLAYBOOK"] || undefined);
  return file === undefined ? undefined : resolve(io.cwd, file);
}

/**
 * A process recovers the runs of its own application. A run on scripted answers is an application of
 * its own: a process with a real model must not continue it, and a process with a playbook must never
 * put scripted words into a run that a real model began.
 */
export const ordinaryApplication = "mandate";
export const demoApplication = "demo";

const prefix = "playbook:";

export const demoPlaybook = fileURLToPath(new URL("./demonstration/harbour.yaml", import.meta.url));

export function applicationFor(playbook: string | undefined): string {
  return playbook === undefined ? ordinaryApplication : prefix + playbook;
}

/** The playbook that a run of this application answers from; undefined for real models. */
export function playbookOf(application: string): string | undefined {
  if (application === demoApplication) return demoPlaybook;
  return application.startsWith(prefix) ? application.slice(prefix.length) : undefined;
}

export const roleOption: CommandOption = text(
  "ROLE",
  "act as viewer, operator or admin (operator)",
);

export const sessionOption: CommandOption = text("ID", "the session that the command belongs to");

/** A person who can open the database is its operator. A script can take a smaller role. */
export function roleOf(given: Arguments): Role {
  const text = given.text("role") ?? "operator";
  const role = roles.find((each) => each === text);
  if (role !== undefined) return role;
  throw new MandateError("usage", `--role takes ${roles.join(", ")}; it is ${quote(text)}.`);
}

/** The options of processes that serve others for long: `serve` and `worker`. */
export const operatingOptions: Readonly<Record<string, CommandOption>> = {
  health: text("PORT", "port for /healthz, /readyz and /metrics, without a token (none; 0: any)"),
  "health-host": text("ADDRESS", "address for these (127.0.0.1)"),
  "log-format": text("FORMAT", "json or text (text at a terminal, else json)"),
  "wait-for-database": text("TIME", "how long to wait at the start for Postgres (10s; 0s: not)"),
};

const usualWaitMs = 10_000;

/** Where a process of an operator reports, and how its start waits. */
export function operatingOf(given: Arguments, io: Io) {
  const port = portOf(given);
  const wait = given.text("wait-for-database");
  return {
    log: processLog(given, io),
    waitForDatabaseMs:
      wait === "0" || wait === "0s" ? 0 : (given.duration("wait-for-database") ?? usualWaitMs),
    health: port === undefined ? undefined : { port, hostname: given.text("health-host") },
  };
}

/** Writes a line for each entry to standard error. */
function processLog(given: Arguments, io: Io): Log {
  const chosen = given.text("log-format") ?? (io.environment["MANDATE_LOG_FORMAT"] || undefined);
  const format: LogFormat | undefined =
    chosen === undefined
      ? io.stderr.isTerminal
        ? "text"
        : "json"
      : logFormats.find((each) => each === chosen);
  if (format === undefined) {
    throw new MandateError(
      "usage",
      `--log-format (or MANDATE_LOG_FORMAT) takes ${logFormats.join(" or ")}; it is "${chosen}".`,
    );
  }
  return (entry) => io.stderr.write(printable(formatLog(entry, format, io.now())));
}

function portOf(given: Arguments): number | undefined {
  const text = given.text("health");
  if (text === undefined) return undefined;
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new MandateError("usage", `--health takes a port from 0 to 65535; it is "${text}".`);
}
