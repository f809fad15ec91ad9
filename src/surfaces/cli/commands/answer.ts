import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { openRuntime } from "../open-runtime.ts";
import { ordinaryApplication } from "../playbook-application.ts";
import { printableJson } from "../printable.ts";

export const answerCommand: Command = {
  name: "answer",
  usage: '[options] ASK "TEXT"',
  about: "Answers a question that an agent asked. The first answer counts.",
  options: { json: jsonOption },
  words: { least: 2, most: Number.POSITIVE_INFINITY },
  run: answer,
};

async function answer(given: Arguments, io: Io): Promise<number> {
  const [askId = "", ...words] = given.words;
  const runtime = await openRuntime(given, io, ordinaryApplication);
  try {
    const counted = await runtime.engine.answer(askId, words.join(" "));
    if (given.flag("json")) io.stdout.write(`${printableJson({ askId, accepted: counted }, 2)}\n`);
    else if (counted) io.stdout.write(`Answered ${askId}.\n`);
    else {
      throw new MandateError(
        "conflict",
        `${askId} waits for no answer any more: it was answered, ran out of time, or its agent ended.`,
      );
    }
    return counted ? exitCode.done : exitCode.failed;
  } finally {
    await runtime.close();
  }
}
