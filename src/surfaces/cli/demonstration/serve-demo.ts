import { findPlaces } from "../../../control/places.ts";
import type { DeltaHub } from "../../http/streams/sse-deltas.ts";
import { reportOutcome } from "../attend.ts";
import type { Display } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { openBrowser } from "../open-browser.ts";
import { styleFor } from "../style.ts";
import { type DemoPage, openDemoPage } from "./demo-page.ts";
import { hasBrowser } from "./has-browser.ts";
import { type NextStep, nextStep } from "./next-step.ts";
import { type DemoStage, inHome, performDemo } from "./perform-demo.ts";
import { StopSignal } from "./stop-signal.ts";
import { tellWhatHappened } from "./tell-what-happened.ts";

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
