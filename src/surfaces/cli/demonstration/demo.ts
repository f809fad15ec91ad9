import { join } from "node:path";
import { defaultConfig } from "../../../control/config.ts";
import { findPlaces } from "../../../control/places.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { createRuntime, type Runtime } from "../../../runtime.ts";
import { DeltaHub } from "../../http/streams/sse-deltas.ts";
import { reportOutcome } from "../attend.ts";
import { type Arguments, type Command, flag, text } from "../command.ts";
import type { Io } from "../io.ts";
import { demoApplication, demoPlaybook } from "../open-runtime.ts";
import type { WorkOutcome } from "../work-on.ts";
import {
  type DemoStage,
  inHome,
  performDemo,
  preparePlace,
  tellWhatHappened,
  tellWhereToLook,
} from "./perform-demo.ts";

export const demoCommand: Command = {
  name: "demo",
  usage: "[options]",
  about:
    "A parent agent and its children prepare the release of a small project: three in parallel, one\n" +
    "that delegates further, one whose model fails and that tries again, one that is asked to do more\n" +
    "than its contract grants. Needs no key and no network: a playbook answers in place of a model.\n" +
    "Kill it in the middle and start it again: it continues where it stopped.\n\n" +
    "With --serve it also opens the dashboard on it, and serves that until Ctrl-C.",
  options: {
    serve: flag("show it in the dashboard too, until Ctrl-C"),
    port: text("NUMBER", "where (4848, or the next that is free; 0: any)"),
    speed: text("NUMBER", "so many times faster"),
    quiet: flag("show nothing while it works", "q"),
  },
  run: demo,
};

async function demo(given: Arguments, io: Io): Promise<number> {
  const port = portOf(given);
  const { home } = findPlaces(io.environment);
  const ownHome = join(home, "demo");
  const deltas = new DeltaHub();
  const runtime = await openDemoRuntime(given, io, ownHome, deltas);
  try {
    const wanted = join(home, "demo-harbour");
    const place = await preparePlace(runtime, wanted);
    const stage: DemoStage = { given, io, ownHome, wanted, place, runtime };
    if (!given.flag("serve")) return await tellEnd(stage, await performDemo(stage));
    const { serveDemo } = await import("./serve-demo.ts");
    return await serveDemo(stage, { deltas, port });
  } finally {
    await runtime.close();
  }
}

async function tellEnd(stage: DemoStage, outcome: WorkOutcome): Promise<number> {
  const { given, io, ownHome, runtime } = stage;
  if (outcome.ended !== "result")
    return reportOutcome(outcome, given, { ...io, program: inHome(io, ownHome) });
  const code = await tellWhatHappened(runtime.store, outcome, io);
  await tellWhereToLook(runtime.store, outcome, io, ownHome);
  return code;
}

/** The demonstration looks the same everywhere: no configuration of the user has an effect on it. */
function openDemoRuntime(
  given: Arguments,
  io: Io,
  ownHome: string,
  deltas: DeltaHub,
): Promise<Runtime> {
  const speed = given.count("speed") ?? 1;
  return createRuntime({
    // The demonstration works in a sample folder that it creates.
    consent: "named",
    environment: { ...io.environment, MANDATE_HOME: ownHome },
    cwd: ownHome,
    config: { ...defaultConfig, profiles: [], files: [] },
    application: demoApplication,
    playbook: { file: demoPlaybook, speed },
    onDelta: deltas.hear,
    // Each kill is charged the worst case of the requests in flight, so they are kept small.
    limits: {
      maxTokens: 1_000_000,
      runTokens: 2_000_000,
      maxOutputTokens: 1024,
      requestTries: 2,
      backoffMs: 500 / speed,
    },
  });
}

function portOf(given: Arguments): number | undefined {
  const text = given.text("port");
  if (text === undefined) return undefined;
  if (!given.flag("serve")) throw new MandateError("usage", "--port goes with --serve.");
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new MandateError("usage", `--port takes a number from 0 to 65535; it is "${text}".`);
}
