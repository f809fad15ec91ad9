import { randomBytes } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { Forks } from "../../../application/replay.ts";
import { startRetention } from "../../../application/retention.ts";
import { AccessTokens, installationToken, proofOf } from "../../../control/access/access-tokens.ts";
import { findPlaces } from "../../../control/places.ts";
import type { Log } from "../../../ports/log.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import type { Runtime } from "../../../runtime.ts";
import { isLoopback } from "../../http/allowed-hosts.ts";
import type { RunningServer } from "../../http/serve.ts";
import { type Arguments, type Command, flag, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import { type Io, untilStopped } from "../io.ts";
import { openBrowser } from "../open-browser.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  operatingOf,
  operatingOptions,
  runtimeOptions,
} from "../open-runtime.ts";
import { printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";

const usualPort = 4848;

export const serveCommand: Command = {
  name: "serve",
  usage: "[options]",
  about:
    "Serves the dashboard, the HTTP API with event streams, MCP at /mcp and metrics at /metrics, for\n" +
    "this machine. Every request needs a token (`mandate token`). At its start it recovers runs that a\n" +
    "crash interrupted. Ctrl-C stops it after open requests are answered; the next start recovers the\n" +
    "open runs.",
  options: {
    port: text("NUMBER", `where to listen (${usualPort}; 0: any)`),
    host: text("ADDRESS", "address to listen at (127.0.0.1)"),
    workspace: text("DIR", "a folder in which agents may work; repeatable (this one)", "C"),
    "allow-host": text("NAME", "a name that others use to reach it; repeatable (none)"),
    "print-token": flag("print the installation's token"),
    open: flag("open the dashboard in a browser"),
    link: flag("print a new dashboard address of the running server"),
    ...operatingOptions,
    ...runtimeOptions,
    ...consentOptions,
  },
  examples: ["serve", "serve --port 0 --workspace ~/harbour --workspace ~/lighthouse"],
  run: serve,
};

async function serve(given: Arguments, io: Io): Promise<number> {
  const port = portOf(given);
  const allowedHosts = given.texts("allow-host");
  const hostname = hostnameOf(given, allowedHosts);
  if (given.flag("link")) return printLink(given, io, port);
  const workspaces = workspacesOf(given, io);
  const { DeltaHub } = await import("../../http/streams/sse-deltas.ts");
  const { serveRuntime } = await import("../../http/serve-runtime.ts");
  const { findDashboard, staticFiles } = await import("../../http/static-files.ts");
  const { readPageKey } = await import("../../http/page/page-key.ts");
  const pageKey = readPageKey(io.environment);
  const deltas = new DeltaHub();
  const forks = new Forks();
  const application = applicationFor(chosenPlaybook(given, io));
  const { health, log, waitForDatabaseMs } = operatingOf(given, io);
  const runtime = await openRuntime(given, io, application, {
    ...{ log, waitForDatabaseMs },
    ...(workspaces[0] !== undefined && { cwd: workspaces[0] }),
    onDelta: deltas.hear,
    middleware: [forks.middleware],
  });
  try {
    const isNamed = given.texts("workspace").length > 0;
    for (const folder of workspaces) {
      await requireConsent(folder, { given, io, runtime }, { isNamed });
    }
    const { tokens: file } = findPlaces(io.environment);
    const token = installationToken(file);
    const tokens = new AccessTokens(runtime.store, file, runtime.clock);
    const host = { runtime, tokens, workspaces, startedAt: io.now(), forks };
    const folder = findDashboard();
    const files = folder === undefined ? undefined : staticFiles(folder);
    const server = await serveRuntime({
      ...{ host, port, hostname, allowedHosts, deltas, health, pageKey },
      log: (message) => log({ level: "error", code: "server_fault", message }),
      staticFiles: files,
      linkHint: (taken) => linkCommand(taken, io),
    }).catch(async (error: unknown) => {
      throw isPortTaken(error, port) ? await describeTaken(port, io) : error;
    });
    const stopped = untilStopped(io);
    const { paint } = styleFor(io.stdout, io);
    io.stdout.write(`Mandate listens at ${paint.strong(server.url)}\n`);
    io.stdout.write(`It works in ${workspaces.map(printableLine).join(", ")}\n`);
    if (files !== undefined) await showPage(server, token, given, io);
    const where = `The token is in ${printableLine(file)} (${io.program} token show)`;
    io.stdout.write(given.flag("print-token") ? `The token is ${token}\n` : `${where}\n`);
    const healthAt =
      server.healthPort === undefined
        ? ""
        : ` Probes and metrics are on port ${server.healthPort}.`;
    const message = `The server listens on port ${server.port}.${healthAt}`;
    // A person at a terminal has read it already.
    if (!io.stdout.isTerminal) log({ level: "info", code: "server_started", message });
    await recover(runtime, log);
    const retention = startRetention(runtime, findPlaces(io.environment).home, log);
    await stopped;
    retention.stop();
    log({
      level: "info",
      code: "server_stopping",
      message: "Stopping after open requests are answered.",
    });
    await server.close();
    return exitCode.done;
  } finally {
    await runtime.close();
  }
}

/** On this machine the address works until the server ends, elsewhere once. */
async function showPage(
  { pages, port, url }: RunningServer,
  token: string,
  given: Arguments,
  io: Io,
): Promise<void> {
  const { code, validFor } = await pages.createLink(token);
  const link = `${url}/#code=${code}`;
  io.stdout.write(`The dashboard is at ${link}\n`);
  if (validFor !== null) {
    const { code: short } = await pages.createShortCode(token);
    const minutes = Math.round(validFor / 60_000);
    io.stdout.write(`  (or sign in on the page with the code ${short})\n`);
    io.stdout.write(
      `  (each works once, for ${minutes} min; ${linkCommand(port, io)} gives another)\n`,
    );
  }
  if (given.flag("open")) openBrowser(link);
}

export function linkCommand(port: number, io: Pick<Io, "program">): string {
  return `${io.program} serve --link${port === usualPort ? "" : ` --port ${port}`}`;
}

async function printLink(given: Arguments, io: Io, port: number): Promise<number> {
  const { tokens: file } = findPlaces(io.environment);
  const server = `http://127.0.0.1:${port}`;
  const { link, shortCode } = await requestPageLink(server, installationToken(file));
  io.stdout.write(`${link}\n`);
  if (shortCode !== undefined) {
    io.stderr.write(`Or type this code on the sign-in page: ${shortCode} (once, for 10 min)\n`);
  }
  if (given.flag("open")) openBrowser(link);
  return exitCode.done;
}

/** A run that cannot be recovered must not keep a server from serving. */
async function recover({ engine }: Runtime, log: Log): Promise<void> {
  const refused = (error: unknown): void => {
    const message = `An interrupted run could not be recovered: ${messageOf(error)}`;
    log({ level: "warn", code: "run_not_recovered", message });
  };
  try {
    for (const { runId, result } of await engine.recover(undefined, refused)) {
      const message = `${runId} was interrupted and continues where it stopped.`;
      log({ level: "info", code: "run_recovered", message, run: runId });
      // The outcome of the run is in the log; the server does not wait for it.
      result.catch(() => undefined);
    }
  } catch (error) {
    refused(error);
  }
}

function portOf(given: Arguments): number {
  const text = given.text("port") ?? String(usualPort);
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new MandateError("usage", `--port takes a number from 0 to 65535; it is "${text}".`);
}

/** A host that others can reach also needs the name that they use, so that no typo opens the machine. */
function hostnameOf(given: Arguments, allowedHosts: readonly string[]): string {
  const wrong = allowedHosts.find((name) => !/^[a-z0-9.-]+(?::[0-9]{1,5})?$/i.test(name));
  if (wrong !== undefined) {
    throw new MandateError(
      "usage",
      `--allow-host takes a name such as mandate.example, perhaps with a port; it is "${wrong}".`,
    );
  }
  const hostname = given.text("host") ?? "127.0.0.1";
  if (isLoopback(hostname) || allowedHosts.length > 0) return hostname;
  throw new MandateError(
    "usage",
    `--host ${hostname} can be reached from other machines. Give the name that they use: --allow-host NAME. Traffic is not encrypted unless a proxy in front of this server does it.`,
  );
}

function workspacesOf(given: Arguments, io: Io): readonly string[] {
  const named = given.texts("workspace");
  const paths = (named.length > 0 ? named : ["."]).map((path) => resolve(io.cwd, path));
  return paths.map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return realpathSync(path);
    const problem = stats === undefined ? "does not exist" : "is not a folder";
    throw new MandateError("usage", `The workspace ${path} ${problem}.`);
  });
}

/** `cause` of the error of a server that could not listen. */
function isPortTaken(error: unknown, asked: number): boolean {
  const { cause } = error instanceof MandateError ? error : {};
  const { code, port } = (cause ?? {}) as { readonly code?: unknown; readonly port?: unknown };
  return code === "EADDRINUSE" && port === asked;
}

/** Any program may answer there, so nothing is advised before it proves to be of this installation. */
async function describeTaken(port: number, io: Io): Promise<MandateError> {
  const other = `To use another port: ${io.program} serve --port 0`;
  const token = installationToken(findPlaces(io.environment).tokens);
  const isOurs = await isOwnServer(`http://127.0.0.1:${port}`, token).catch(() => false);
  const what = isOurs
    ? `Mandate is running there; for the address of its dashboard: ${linkCommand(port, io)}\n${other}`
    : other;
  return new MandateError("usage", `Port ${port} is already in use.\n${what}`);
}

/**
 * True for a server that can read the token, which is not sent. The proof is for the address and
 * port, so a program in between cannot pass on the proof of a server at another one.
 */
async function isOwnServer(server: string, token: string): Promise<boolean> {
  const nonce = randomBytes(32).toString("base64url");
  const answer = await fetch(`${server}/api/v1/page-session`, {
    headers: { origin: server, "x-mandate-challenge": nonce },
    redirect: "error",
    signal: AbortSignal.timeout(5000),
  });
  const said: unknown = await answer.json().catch(() => undefined);
  const { proof } = (said ?? {}) as { readonly proof?: unknown };
  return proof === proofOf(token, `${server.slice("http://".length)} ${nonce}`);
}

/** Asks a running server of this installation for an address that opens its dashboard. */
async function requestPageLink(
  server: string,
  token: string,
): Promise<{ readonly link: string; readonly shortCode: string | undefined }> {
  let isOwn: boolean;
  try {
    isOwn = await isOwnServer(server, token);
  } catch (cause) {
    throw new MandateError(
      "usage",
      `No server answers at ${server}. Start one with \`mandate serve\`, or name its port with --port.`,
      { cause },
    );
  }
  if (!isOwn) {
    throw new MandateError(
      "usage",
      `The server at ${server} did not prove that it is of this installation, so it got no token. It may be another program's, or of another MANDATE_HOME.`,
    );
  }
  const response = await fetch(`${server}/api/v1/page-code`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    redirect: "error",
  });
  const said: unknown = await response.json().catch(() => undefined);
  const { code, shortCode } = (said ?? {}) as { code?: unknown; shortCode?: { code?: unknown } };
  if (response.status === 201 && typeof code === "string" && /^[\w-]+$/.test(code)) {
    const { code: short } = shortCode ?? {};
    const isShort = typeof short === "string" && /^[\w-]{11}$/.test(short);
    return { link: `${server}/#code=${code}`, shortCode: isShort ? short : undefined };
  }
  throw new MandateError(
    "usage",
    `The server at ${server} gave no dashboard address (status ${response.status}).`,
  );
}
