import { commandContext } from "../../../application/commands/command-context.ts";
import { executeCommand } from "../../../application/commands/execute-command.ts";
import { fromUser } from "../../../application/commands/user-text.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import type { Command } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { chosenPlaybook, openRuntime, runtimeOptions } from "../open-runtime.ts";
import { applicationFor } from "../playbook-application.ts";
import { printable, printableJson } from "../printable.ts";
import { roleOf, roleOption, sessionOption } from "../speaker.ts";
import type { StartedRun, Work } from "../work-on.ts";

export const commandCommand: Command = {
  name: "command",
  usage: '[options] "/COMMAND …"',
  about:
    "Executes a chat command, with the same words and the same answers as everywhere: /help lists\n" +
    "them. One that starts an agent works on it to the end; the result goes to standard output.",
  options: {
    "session-id": sessionOption,
    role: roleOption,
    "read-only": { type: "flag", help: "nobody whom it starts may write in the workspace" },
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
    json: { type: "flag", help: "print the answer, or the result, as one JSON document" },
  },
  words: {
    least: 1,
    most: Number.POSITIVE_INFINITY,
    needs: "a chat command: mandate command /help lists them",
  },
  examples: [
    "command /status",
    'command "/oracle Why is the first request slow?"',
    "command /review main..topic",
  ],
  run: command,
};

async function command(given: Arguments, io: Io): Promise<number> {
  const principal: Principal = { id: "local", role: roleOf(given) };
  const said = fromUser(given.words.join(" "), principal);
  const playbook = chosenPlaybook(given, io);
  const runtime = await openRuntime(given, io, applicationFor(playbook));
  try {
    const started: StartedRun[] = [];
    const place = {
      session: given.text("session-id"),
      workspace: io.cwd,
      readOnly: given.flag("read-only"),
      // Asked when the command starts work, and not before: most commands only look.
      requireFolder: async (folder: string | null) => {
        await requireConsent(folder, { given, io, runtime });
      },
      onStart: (run: StartedRun) => void started.push(run),
    };
    const outcome = await executeCommand(said, commandContext(runtime, principal, place));
    if (!outcome.ok) throw new MandateError(outcome.code, outcome.reply);
    const [run] = started;
    if (run === undefined) {
      const reply = given.flag("json") ? printableJson(outcome.data, 2) : outcome.reply.trimEnd();
      io.stdout.write(`${io.stdout.isTerminal ? printable(reply) : reply}\n`);
      return exitCode.done;
    }
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbook, work);
        work.display.say(printable(outcome.reply));
        await watch(run);
        return run;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}
