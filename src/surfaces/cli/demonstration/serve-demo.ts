import { realpathSync } from "node:fs";
import { AccessTokens, installationToken } from "../../../control/access/access-tokens.ts";
import { findPlaces } from "../../../control/places.ts";
import { diagnoseMachine } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { RunningServer } from "../../http/serve.ts";
import type { DeltaHub } from "../../http/streams/sse-deltas.ts";
import { reportOutcome } from "../attend.ts";
import { suggestLocalModel } from "../commands/doctor.ts";
import type { Display } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { openBrowser } from "../open-browser.ts";
import { printable } from "../printable.ts";
import { styleFor } from "../style.ts";
import { type DemoStage, inHome, performDemo, tellWhatHappened } from "./perform-demo.ts";

interface ServeDemoOptions {
  readonly deltas: DeltaHub;
  readonly port: number | undefined;
}

/**
 * The demonstration with its page: the address is there as soon as the run is, and the page stays
 * until somebody ends it. That is how it is meant to end, so it ends well, also in the middle.
 */
export async function serveDemo(
  stage: DemoStage,
  { deltas, port }: ServeDemoOptions,
): Promise<number> {
  const { io, ownHome, place: workspace, runtime } = stage;
  const { tokens } = findPlaces({ ...io.environment, MANDATE_HOME: ownHome });
  const stop = new StopSignal(io);
  let page: DemoPage | undefined;
  try {
    const served = await openDemoPage({ runtime, deltas, io, tokens, workspace, port });
    page = served;
    // Asks what answers on this machine, while nobody waits for that.
    const next = nextStep(io);
    next.catch(() => undefined);
    const outcome = await performDemo(stage, ({ runId }, display) =>
      showAddress(served, `/runs/${runId}`, io, display),
    );
    if (outcome.ended !== "result") {
      const own = { ...io, program: inHome(io, ownHome) };
      const code = reportOutcome(outcome, stage.given, own);
      return outcome.ended === "interrupted" ? exitCode.done : code;
    }
    const code = await tellWhatHappened(runtime.store, outcome, io);
    await keepServing(served, `/runs/${outcome.run.runId}`, await next, stage, stop);
    return code;
  } finally {
    await page?.close();
    stop.release();
  }
}

/** Two addresses: each works once, and a browser that is opened uses its own up. */
function showAddress(page: DemoPage, path: string, io: Io, display: Display): void {
  const { paint } = styleFor(io.stderr, io);
  const isOpened = hasBrowser(io);
  if (isOpened) openBrowser(page.link(path));
  for (const notice of page.notices) display.say(paint.warn(notice));
  const where = isOpened ? "opens in your browser, and also" : "is";
  display.say(`The dashboard ${where} at ${paint.accent(page.link(path))}\n`);
}

async function keepServing(
  page: DemoPage,
  path: string,
  next: NextStep,
  { io, ownHome }: DemoStage,
  stop: StopSignal,
): Promise<void> {
  stop.holds = true;
  const { paint } = styleFor(io.stdout, io);
  const again =
    io.ask === undefined
      ? `${inHome(io, ownHome)} serve --link --port ${page.port} gives another`
      : "Enter gives another";
  const rows = [
    [`Dashboard  ${paint.accent(page.link(path))}`, `works once, within a minute; ${again}`],
    [`Next       ${paint.strong(next.command)}`, `${next.about}; Ctrl-C ends this one`],
  ];
  for (const [line = "", about = ""] of rows) {
    io.stdout.write(`${line}\n           ${paint.dim(about)}\n`);
  }
  const offering = io.ask && offerAddresses(page, path, io.ask, io, stop.signal);
  await stop.arrived;
  await offering;
  io.stderr.write("Stopping.\n");
}

/** An address works once and for a minute: whoever comes later, or with another browser, asks. */
async function offerAddresses(
  page: DemoPage,
  path: string,
  ask: NonNullable<Io["ask"]>,
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      await ask("", signal);
      io.stdout.write(`${page.link(path)}\n`);
    }
  } catch {
    // It ends, or the input has: the page stays all the same.
  }
}

/** Whether a browser may be opened unasked: somebody sits here, at a screen. `BROWSER=none`: no. */
export function hasBrowser(
  { environment, stdout }: Pick<Io, "environment" | "stdout">,
  platform: NodeJS.Platform = process.platform,
): boolean {
  const isElsewhere = environment["CI"] || environment["SSH_CONNECTION"] || environment["SSH_TTY"];
  if (!stdout.isTerminal || isElsewhere || environment["BROWSER"] === "none") return false;
  if (platform === "darwin" || platform === "win32") return true;
  return Boolean(environment["DISPLAY"] || environment["WAYLAND_DISPLAY"]);
}

interface NextStep {
  readonly command: string;
  readonly about: string;
}

/** What to type to have a language model at work: by what this machine has already. */
async function nextStep(io: Io): Promise<NextStep> {
  const { models } = await diagnoseMachine(io.environment, undefined);
  const serve = `${io.program} serve`;
  if (models.default !== null && !models.default.startsWith("scripted/")) {
    return { command: serve, about: `the same with ${models.default}, which you have set up` };
  }
  const [local] = models.local.flatMap((endpoint) => suggestLocalModel(endpoint) ?? []);
  if (local !== undefined) {
    const about = `the same with ${local}, which answers on this machine`;
    return { command: `MANDATE_MODEL=${local} ${serve}`, about };
  }
  const { ellipsis } = styleFor(io.stdout, io).glyphs;
  return {
    command: `ANTHROPIC_API_KEY=${ellipsis} ${serve}`,
    about: `the same with a language model (${io.program} doctor: others, and local ones)`,
  };
}

/**
 * Ctrl-C and signals of the system while something is served. It listens from the beginning: what
 * arrives while the demonstration is at work is obeyed there, and here afterwards. Once it `holds`,
 * the second one leaves at once.
 */
class StopSignal {
  readonly #controller = new AbortController();
  readonly release: () => void;
  holds = false;

  constructor(io: Io) {
    this.release = io.onSignal(() => {
      if (this.holds && this.signal.aborted) io.leave(exitCode.interrupted);
      this.#controller.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get arrived(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.signal.aborted) resolve();
    else this.signal.addEventListener("abort", () => resolve(), { once: true });
    return promise;
  }
}

/** The port of `mandate serve`, and how many after it are tried when it is taken. */
const usualPort = 4848;
const mostNeighbours = 20;

export interface DemoPage {
  readonly url: string;
  readonly port: number;
  /** What a person should know about where it is, in sentences. */
  readonly notices: readonly string[];
  /** An address that opens the page at this path, once and within a minute. */
  link(path: string): string;
  close(): Promise<void>;
}

export interface DemoPageOptions {
  readonly runtime: Runtime;
  readonly deltas: DeltaHub;
  readonly io: Io;
  /** The file of the installation's token. */
  readonly tokens: string;
  /** Where work that is started in the page may happen; it exists. */
  readonly workspace: string;
  /** Exactly this one; absent: the usual one, or the next that is free. */
  readonly port: number | undefined;
}

/** The dashboard of `mandate serve` over the demonstration's own log, in this process. */
async function openDemoPage(options: DemoPageOptions): Promise<DemoPage> {
  const { deltas, io, runtime } = options;
  const { serveRuntime } = await import("../../http/serve-runtime.ts");
  const { findDashboard, staticFiles } = await import("../../http/static-files.ts");
  const token = installationToken(options.tokens);
  const tokens = new AccessTokens(runtime.store, options.tokens, runtime.clock);
  const workspaces = [realpathSync(options.workspace)];
  const folder = findDashboard();
  const server = await listen(options.port, (port) =>
    serveRuntime({
      host: { runtime, tokens, workspaces, startedAt: io.now() },
      port,
      deltas,
      staticFiles: folder === undefined ? undefined : staticFiles(folder),
      // An error may quote what a client said: no line begins with that.
      log: (said) => io.stderr.write(`${printable(said).replaceAll("\n", "\n  ")}\n`),
    }),
  );
  const hasMoved = options.port === undefined && server.port !== usualPort;
  return {
    url: server.url,
    port: server.port,
    notices: [
      ...(hasMoved ? [`Port ${usualPort} is taken, so the dashboard is at ${server.port}.`] : []),
      ...(folder === undefined ? ["The page is not built here: npm run build makes it."] : []),
    ],
    link: (path) => `${server.url}${path}#code=${server.pages.createCode(token).code}`,
    // Streams end at once; nobody waits for what a page that nobody looks at still asks for.
    close: () => server.close(1000),
  };
}

async function listen(
  wanted: number | undefined,
  open: (port: number) => Promise<RunningServer>,
): Promise<RunningServer> {
  if (wanted !== undefined) return open(wanted);
  for (let port = usualPort; port < usualPort + mostNeighbours; port += 1) {
    try {
      return await open(port);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return open(0);
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof MandateError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === "EADDRINUSE" || code === "EACCES";
}
