import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { exitCode } from "../exit-code.ts";
import { consentByInit, requireProjectFolder } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { printable, printableJson } from "../printable.ts";
import { withControl } from "../with-control.ts";
import { askSetup, usualAnswers } from "./ask-setup.ts";
import { configText } from "./config-text.ts";

/** Writes a commented mandate.yaml into this folder, after three questions or without any. */
export async function setUpProject(given: Arguments, io: Io): Promise<number> {
  const file = join(io.cwd, "mandate.yaml");
  // A link that leads nowhere is there too: nothing is written through it.
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
    throw new MandateError(
      "usage",
      `There is a mandate.yaml here already: ${file}. \`${io.program} doctor\` says what it comes to.`,
    );
  }
  requireProjectFolder(given, io);
  const isAsked = io.ask !== undefined && !given.flag("yes") && !given.flag("json");
  const answers =
    isAsked && io.ask !== undefined ? await askSetup(io, io.ask) : await usualAnswers(io);
  const text = configText(answers);
  const isWritten = isAsked || given.flag("yes");
  // Whoever was faster wins: what they wrote is not replaced.
  if (isWritten) {
    writeFileSync(file, text, { flag: "wx" });
    await consentByInit(given, io);
    await trustWritten(file, io);
  }
  if (given.flag("json")) {
    io.stdout.write(`${printableJson({ file, ...answers, written: isWritten }, 2)}\n`);
    return exitCode.done;
  }
  if (!isWritten) {
    io.stdout.write(text);
    io.stderr.write("Nothing was written, for there is nobody to ask. --yes writes this.\n");
    return exitCode.done;
  }
  io.stdout.write(`Written: ${printable(file)}\n`);
  io.stdout.write(
    answers.model === null
      ? `Next: ${io.program} doctor says how to give it a model; ${io.program} demo needs none.\n`
      : `Next: ${io.program} run "What does this project do?"\n`,
  );
  return exitCode.done;
}

/** The person had it written, so it counts as it was written. */
function trustWritten(file: string, io: Io): Promise<void> {
  return withControl(io, async ({ plane, waitingFiles }) => {
    const written = waitingFiles().find((each) => each.file === file);
    if (written === undefined) return;
    const by = { id: "local", role: "operator" } as const;
    await plane.acknowledge(written.hash, { file, name: "mandate.yaml" }, by);
  });
}
