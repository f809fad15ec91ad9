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
import { linkCommand } from "../commands/serve.ts";
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
 * The demonstration with its dashboard: the address is printed as soon as the run exists, and the
 * dashboard stays until Ctrl-C. That is the normal end, so the exit code is 0, also in the middle.
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
    const served = await openDemoPage({
      ...{ runtime, deltas, io, ownHome },
      tokens,
      workspace,
      port,
    });
    page = served;
    // Looks for local models while the demonstration runs.
    const next = nextStep(io);
    next.catch(() => undefined);
    const outcome = await performDemo(stage, ({ runId }, display) =>
      showAddress(served, `/runs/${runId}`, io, display),
    );
    if (outcome.ended !== "result") {
      const own = { ...io, program: inHome(io, ownHome) };
      const code = await reportOutcome(outcome, stage.given, own);
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
  { io }: DemoStage,
  stop: StopSignal,
): Promise<void> {
  stop.holds = true;
  const { paint } = styleFor(io.stdout, io);
  const rows = [
    [`Dashboard  ${paint.accent(page.link(path))}`, "until you stop this with Ctrl-C"],
    [`Next       ${paint.strong(next.command)}`, next.about],
  ];
  for (const [line = "", about = ""] of rows) {
    io.stdout.write(`${line}\n           ${paint.dim(about)}\n`);
  }
  await stop.arrived;
  io.stderr.write("Stopping.\n");
}

/** Whether a browser may be opened unasked: a person at a local screen. `BROWSER=none`: no. */
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

/** The command that starts work with a language model, by what this machine has. */
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
    about: `the same with a language model; others: ${io.program} doctor`,
  };
}

/**
 * Ctrl-C and signals while the dashboard is served. It listens from the beginning: a signal during the
 * demonstration interrupts that first. Once it `holds`, the second signal exits at once.
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

/** The port of `mandate serve`, and how many ports after it are tried when it is in use. */
const usualPort = 4848;
const mostNeighbours = 20;

export interface DemoPage {
  readonly url: string;
  readonly port: number;
  /** The sentences about the address of the page. */
  readonly notices: readonly string[];
  /** An address that opens this path until the server ends. */
  link(path: string): string;
  close(): Promise<void>;
}

export interface DemoPageOptions {
  readonly runtime: Runtime;
  readonly deltas: DeltaHub;
  readonly io: Io;
  readonly ownHome: string;
  /** The file of the installation's token. */
  readonly tokens: string;
  /** The folder in which the dashboard may start work; it exists. */
  readonly workspace: string;
  /** Exactly this port; absent: the default, or the next free one. */
  readonly port: number | undefined;
}

/** The dashboard of `mandate serve` over the demonstration's own log, in this process. */
async function openDemoPage(options: DemoPageOptions): Promise<DemoPage> {
  const { deltas, io, ownHome, runtime } = options;
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
      linkHint: (port) => linkCommand(port, { program: inHome(io, ownHome) }),
      // An error may quote a client: no line of the log begins with its text.
      log: (said) => io.stderr.write(`${printable(said).replaceAll("\n", "\n  ")}\n`),
    }),
  );
  const hasMoved = options.port === undefined && server.port !== usualPort;
  return {
    url: server.url,
    port: server.port,
    notices: [
      ...(hasMoved ? [`Port ${usualPort} is in use, so the dashboard is at ${server.port}.`] : []),
      ...(folder === undefined
        ? ["The dashboard is not built here: npm run build builds it."]
        : []),
    ],
    link: (path) => `${server.url}/#code=${server.pages.createCode(token, path).code}`,
    // Streams are closed at once; open requests of a forgotten page get a second.
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
      // Each way of not getting a port is such an error.
      if (!(error instanceof MandateError)) throw error;
    }
  }
  return open(0);
}
