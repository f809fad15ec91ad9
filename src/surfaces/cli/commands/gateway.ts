import { basename } from "node:path";
import type { SessionGateway } from "../../../application/gateway/gateway.ts";
import {
  type ProgramExit,
  type RunningProgram,
  runProgram,
} from "../../../application/gateway/run-program.ts";
import { findPlaces } from "../../../control/places.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { GatewayServer } from "../../gateway/gateway-server.ts";
import { programEnvironment, programHints, shellLines } from "../../gateway/program-variables.ts";
import { formatCost, formatTokens } from "../amounts.ts";
import { type Arguments, anyWords, type Command, flag, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io, StopSignal } from "../io.ts";
import { limitOptions, limitsOf, openRuntime, ordinaryApplication } from "../open-runtime.ts";
import { printable, printableLine } from "../printable.ts";

/** The exit code of a timeout, as the program `timeout` has it. */
const timedOut = 124;
/** A program that was asked to end has so long to do it. */
const graceMs = 5000;

export const gatewayCommand: Command = {
  name: "gateway",
  usage: "[options] [-- COMMAND [ARGS]]",
  about:
    "Lets another program use language models under a contract: with COMMAND it runs that program with\n" +
    "the variables that it needs, and exits with its code; without, it prints the variables and serves\n" +
    "until Ctrl-C. The program speaks the protocols of Anthropic, OpenAI and Google with a token of this\n" +
    "run. The real keys stay here. What a request can cost at most is reserved before it is sent; when\n" +
    "the limit is reached, every further request is refused with the reason.",
  options: {
    ...limitOptions,
    model: text("PROVIDER/MODEL", "a model it may use; repeatable (every model of known price)"),
    network: flag("let requests use web search and web fetch of the provider"),
    port: text("NUMBER", "where to listen on 127.0.0.1 (any free port)"),
    shell: text("SHELL", "sh or fish: the form of the printed variables (as $SHELL)"),
  },
  words: anyWords,
  examples: [
    'gateway --max-cost 5 -- claude -p "Fix the failing test"',
    "gateway --max-tokens 200000 --model openai/gpt-6.1-sol -- python agent.py",
    "gateway --max-cost 2 --timeout 1h",
  ],
  run,
};

async function run(given: Arguments, io: Io): Promise<number> {
  const [command] = given.words;
  const port = portOf(given);
  const shell = shellOf(given, io);
  const { openGateway } = await import("../../../application/gateway/gateway.ts");
  const { startGatewayServer } = await import("../../gateway/gateway-server.ts");
  const runtime = await openRuntime(given, io, ordinaryApplication);
  try {
    const gateway = await openGateway(runtime, {
      client: command === undefined ? "gateway" : nameOf(command),
      task: command === undefined ? "Requests of other programs" : given.words.join(" "),
      environment: io.environment,
      models: given.texts("model"),
      network: given.flag("network"),
      ...limitsOf(given),
    });
    const log = (line: string): void => io.stderr.write(`${printableLine(line)}\n`);
    const server = await startGatewayServer(runtime.clock, log, port).catch(async (error) => {
      await gateway.session.end({ said: "It could not listen." });
      throw error;
    });
    const serving = { gateway, server, given, io, runtime };
    try {
      return command === undefined ? await serve(serving, shell) : await runUnder(serving);
    } finally {
      await server.close();
      gateway.close();
    }
  } finally {
    await runtime.close();
  }
}

interface Serving {
  readonly gateway: SessionGateway;
  readonly server: GatewayServer;
  readonly given: Arguments;
  readonly io: Io;
  readonly runtime: Runtime;
}

async function serve(serving: Serving, shell: "sh" | "fish"): Promise<number> {
  const { gateway, io, server } = serving;
  const access = { url: server.url, token: server.issue(gateway) };
  for (const line of shellLines(access, shell)) io.stdout.write(`${line}\n`);
  for (const line of programHints(access)) io.stdout.write(`# ${line}\n`);
  io.stderr.write(`Run ${gateway.session.runId} serves until Ctrl-C.\n`);
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const forget = io.onSignal(() => resolve());
  await Promise.race([stopped, gateway.session.closed]);
  forget();
  await gateway.session.end({ said: "The gateway was stopped." });
  const result = await gateway.session.closed;
  summarize(serving, result);
  return result.status === "completed" ? exitCode.done : codeOfEnd(result);
}

/** Runs the command, and ends with it; a run that ends before ends the command. */
async function runUnder(serving: Serving): Promise<number> {
  const { gateway, io } = serving;
  const { session } = gateway;
  const [command = ""] = serving.given.words;
  const signals = new Set<StopSignal>();
  let program: RunningProgram;
  try {
    program = start(serving);
  } catch (error) {
    await session.end({
      failed: { code: "program_failed", program: nameOf(command), exit: "ENOENT" },
    });
    throw error;
  }
  const forget = io.onSignal((signal) => {
    if (signals.size > 0) program.signal("SIGKILL");
    // A terminal has sent it to the program as well.
    else if (signal !== "SIGINT" || io.ask === undefined) program.signal(signal);
    signals.add(signal);
  });
  const ended = program.ended.catch((error: NodeJS.ErrnoException) => error.code ?? "ENOENT");
  const first = await Promise.race([ended, session.closed.then(() => undefined)]);
  const exit = first ?? (await endProgram(serving, program, ended));
  await program.endRest();
  forget();
  await endSession(gateway, nameOf(command), exit, signals);
  const result = await session.closed;
  summarize(serving, result);
  if (first === undefined) return codeOfEnd(result);
  return typeof exit === "number" ? exit : codeOfSignal(exit);
}

function start({ gateway, given, io, runtime, server }: Serving): RunningProgram {
  const [command = "", ...args] = given.words;
  const access = { url: server.url, token: server.issue(gateway) };
  const configured = Object.values(runtime.config.models.providers ?? {});
  const keys = configured.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  return runProgram({
    ...{ command, args, folder: io.cwd, delegationId: gateway.session.delegationId },
    environment: programEnvironment(io.environment, access, keys),
    database: findPlaces(io.environment).database,
  });
}

async function endProgram(
  { runtime }: Serving,
  program: RunningProgram,
  ended: Promise<ProgramExit>,
): Promise<ProgramExit> {
  program.signal("SIGTERM");
  const kill = runtime.clock.after(graceMs, () => program.signal("SIGKILL"));
  return ended.finally(() => kill.cancel());
}

async function endSession(
  { session }: SessionGateway,
  program: string,
  exit: ProgramExit,
  signals: ReadonlySet<StopSignal>,
): Promise<void> {
  if (exit === 0) return session.end({ said: `${program} exited with code 0.` });
  const [signal] = signals;
  return session.end({
    failed:
      signal === undefined
        ? { code: "program_failed", program, exit }
        : { code: "cancelled", text: `${program} was stopped by ${signal}.` },
  });
}

/** Standard output belongs to the program. */
function summarize({ gateway, io }: Serving, result: DelegationResult): void {
  const { runId } = gateway.session;
  const { completion, cost, estimated, prompt } = result.tokenUsage;
  const most = estimated ? "≤ " : "";
  const spent = `${most}${formatTokens(prompt + completion)} tokens, ${most}${formatCost(cost)}`;
  const how = result.status === "completed" ? "" : `: ${printable(result.result)}`;
  io.stderr.write(`mandate: run ${runId} used ${spent}${how}\n`);
  const { exhaustedBy } = gateway.session.requests;
  if (exhaustedBy !== null && result.status === "completed") {
    io.stderr.write(
      "mandate: its budget refused further requests. Give it more with --max-cost or --max-tokens.\n",
    );
  }
}

function codeOfEnd({ closeReason }: DelegationResult): number {
  if (closeReason === "timeout") return timedOut;
  return closeReason === "cancelled" ? exitCode.interrupted : exitCode.failed;
}

const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGTERM: 15,
};

/** The exit code as a shell gives it; a program that could not be started was not found. */
function codeOfSignal(exit: string): number {
  if (exit.startsWith("E")) return 127;
  return 128 + (signalNumbers[exit] ?? 0);
}

/** The name of a program, as lists show it. */
function nameOf(command: string): string {
  return (
    basename(command)
      .replace(/[^\w.+-]/g, "_")
      .slice(0, 60) || "program"
  );
}

function portOf(given: Arguments): number {
  const port = given.text("port");
  if (port === undefined) return 0;
  const number = /^[0-9]{1,5}$/.test(port) ? Number(port) : Number.NaN;
  if (number <= 65_535) return number;
  throw new MandateError("usage", `--port takes a number from 0 to 65535; it is "${port}".`);
}

function shellOf(given: Arguments, io: Io): "sh" | "fish" {
  const asked = given.text("shell") ?? basename(io.environment["SHELL"] ?? "sh");
  if (given.text("shell") !== undefined && asked !== "sh" && asked !== "fish") {
    throw new MandateError("usage", `--shell takes sh or fish; it is "${asked}".`);
  }
  return asked === "fish" ? "fish" : "sh";
}
