import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { openRuntime } from "../open-runtime.ts";
import { ordinaryApplication } from "../playbook-application.ts";
import { printableJson } from "../printable.ts";

export const cancelCommand: Command = {
  name: "cancel",
  usage: "[options] ID",
  about:
    "Cancels a run or a delegation and everything below it, whoever works on it. Cancelling what has\n" +
    "ended changes nothing. What was cancelled can be resumed.",
  options: {
    json: jsonOption,
    reason: { type: "text", value: "TEXT", help: "why, for the log" },
  },
  words: { least: 1, most: 1, needs: "the ID of a run or a delegation: see mandate ls" },
  run: cancel,
};

async function cancel(given: Arguments, io: Io): Promise<number> {
  const runtime = await openRuntime(given, io, ordinaryApplication);
  try {
    const { runId, delegationId } = await findTarget(runtime.store, given.words[0], io);
    const id = delegationId ?? runId;
    const outcome = await runtime.engine.cancel(
      id,
      given.text("reason") ?? "cancelled from the command line",
    );
    if (given.flag("json")) io.stdout.write(`${printableJson({ id, outcome }, 2)}\n`);
    else if (outcome === "cancelled") {
      io.stdout.write(`Cancelled ${id}. Resume: ${io.program} resume ${id}\n`);
    } else io.stdout.write(`${id} had ended already; nothing was changed.\n`);
    return exitCode.done;
  } finally {
    await runtime.close();
  }
}
