import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describeWaiting, waitingContent } from "../../application/waiting-content.ts";
import { type Role, roles } from "../../control/records/principal.ts";
import { quote } from "../../control/records/shown-text.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime, RuntimeOptions } from "../../runtime.ts";
import type { Arguments, CommandOption } from "./command.ts";
import type { Io } from "./io.ts";
import { printableLine } from "./printable.ts";

/** The options of every command that puts agents to work. */
export const runtimeOptions: Readonly<Record<string, CommandOption>> = {
  playbook: { type: "text", value: "FILE", help: "scripted answers instead of a language model" },
  model: {
    type: "text",
    value: "PROVIDER/MODEL",
    help: "the default model; a profile may have its own",
  },
  "answer-default": {
    type: "text",
    value: "TEXT",
    help: "the answer to questions of agents that nobody answers in time",
  },
  "answer-within": { type: "text", value: "TIME", help: "how long a question waits (15m)" },
  speed: { type: "text", value: "NUMBER", help: "divide the waits of a playbook by this" },
};

/** Puts a runtime together from flags and environment. `application` says whose runs it takes up. */
export async function openRuntime(
  given: Arguments,
  io: Io,
  application: string,
  extra: Partial<Omit<RuntimeOptions, "consent">> = {},
): Promise<Runtime> {
  // Loaded here: who only lists the options, or waits for a first request, has no use for it.
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
    ...(model !== undefined && { flags: { model } }),
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

/** The playbook that was asked for, by flag or environment. */
export function chosenPlaybook(given: Arguments, io: Io): string | undefined {
  const file = given.text("playbook") ?? (io.environment["MANDATE_PLAYBOOK"] || undefined);
  return file === undefined ? undefined : resolve(io.cwd, file);
}

/**
 * Whose runs a process takes up after a crash. A run on scripted answers is its own application:
 * a start with a real model must not go on with it, and a start with a playbook must never put
 * scripted words into a run that a real model began.
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

/** The options of commands that ask in somebody's name. */
export const roleOption: CommandOption = {
  type: "text",
  value: "ROLE",
  help: "act as viewer, operator or admin (operator)",
};

export const sessionOption: CommandOption = {
  type: "text",
  value: "ID",
  help: "the session that it is said in",
};

/** Whoever can open the database is its operator; for scripts that may do less, it can be less. */
export function roleOf(given: Arguments): Role {
  const text = given.text("role") ?? "operator";
  const role = roles.find((each) => each === text);
  if (role !== undefined) return role;
  throw new MandateError("usage", `--role takes ${roles.join(", ")}; it is ${quote(text)}.`);
}
