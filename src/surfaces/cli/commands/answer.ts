import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox/inbox.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { printableJson } from "../printable.ts";
import { withStore } from "../with-store.ts";

export const answerCommand: Command = {
  name: "answer",
  usage: '[options] ASK "TEXT"',
  about: "Answers a question that an agent asked. The first answer counts.",
  options: { json: jsonOption },
  words: {
    least: 2,
    most: Number.POSITIVE_INFINITY,
    needs: "the ID of a question, and your answer: see mandate inbox",
  },
  run: (given, io) =>
    withStore(io, async (store) => {
      const [askId = "", ...words] = given.words;
      const outcome = await new Inbox(store).tryAnswer(askId, words.join(" "));
      if (given.flag("json")) io.stdout.write(`${printableJson({ askId, ...outcome }, 2)}\n`);
      else if (outcome.accepted) io.stdout.write(`Answered ${askId}.\n`);
      else throw new MandateError("ask-closed", outcome.reason);
      return outcome.accepted ? exitCode.done : exitCode.failed;
    }),
};
