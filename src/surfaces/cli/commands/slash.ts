import { resolve } from "node:path";
import { decodeText, readRegularFile } from "../../../agents/documents/read-text-file.ts";
import { commandContext } from "../../../application/commands/command-context.ts";
import { executeCommand, fromUser } from "../../../application/commands/execute-command.ts";
import { pinScopes } from "../../../control/records/pins.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { reasonOf } from "../../../ports/message-of.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import { type Arguments, anyWords, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  ordinaryApplication,
  readOnlyOption,
  roleOf,
  roleOption,
  runtimeOptions,
  sessionOption,
  withRuntime,
} from "../open-runtime.ts";
import { printable, printableJson } from "../printable.ts";
import type { StartedRun, Work } from "../work-on.ts";

const maximumBytes = 1_000_000;

const scopeOptions = Object.fromEntries(
  pinScopes.map((scope) => {
    const where = scope === "global" ? "everywhere" : `for this ${scope}`;
    return [scope, flag(`pin or unpin ${where}`)];
  }),
);

/** `mandate /status`: a chat command as it is typed in the chat, in one word or in several. */
export const slashCommand: Command = {
  name: "/COMMAND",
  usage: "… [options]",
  about:
    "Executes a chat command, with the same words and the same answers as in the chat: /help lists\n" +
    "them. A command that starts an agent works on it to the end; the result goes to standard output.",
  options: {
    ...scopeOptions,
    "session-id": sessionOption,
    role: roleOption,
    "read-only": readOnlyOption,
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
    json: flag("print the answer, or the result, as one JSON document"),
  },
  words: {
    least: 1,
    most: Number.POSITIVE_INFINITY,
    needs: "a chat command: mandate /help lists them",
  },
  examples: ["/status", "/oracle Why is the first request slow?", "/review main..topic"],
  run: (given, io) => {
    const playbook = chosenPlaybook(given, io);
    const typed = [...given.words, ...scopesIn(given)].join(" ");
    return execute(typed, playbook, applicationFor(playbook), { given, io });
  },
};

export const agentsCommand: Command = {
  name: "agents",
  usage: "[options] [list|show|register|unregister|set-…|pin|unpin|pins|export-yaml|apply-yaml] …",
  about:
    "Shows and changes registered agents, and which profile is the default where. These are the\n" +
    "chat's /agents commands with the same words and the same answers; parts that the chat separates\n" +
    'with bars are words here: register @writer writer "Writes documents".\n' +
    "apply-yaml takes a file, or - for standard input.",
  options: {
    json: jsonOption,
    ...scopeOptions,
    "session-id": text("ID", "the session of session pins"),
    role: roleOption,
  },
  words: anyWords,
  examples: [
    'agents register @writer writer "Writes clear documents"',
    "agents pin @writer --workspace",
    "agents export-yaml > agents.yaml",
    "agents apply-yaml agents.yaml",
  ],
  run: async (given, io) =>
    execute(await agentsText(given, io), undefined, ordinaryApplication, { given, io }),
};

async function execute(
  typed: string,
  playbook: string | undefined,
  application: string,
  { given, io }: { readonly given: Arguments; readonly io: Io },
): Promise<number> {
  const principal: Principal = { id: "local", role: roleOf(given) };
  const said = fromUser(typed, principal);
  return withRuntime(given, io, application, async (runtime) => {
    const started: StartedRun[] = [];
    const place = {
      session: given.text("session-id"),
      workspace: io.cwd,
      readOnly: given.flag("read-only"),
      // Asked when the command starts work, and not before: most commands only read.
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
    return attend(given, work);
  });
}

function scopesIn(given: Arguments): readonly string[] {
  return pinScopes.filter((scope) => given.flag(scope)).map((scope) => `--${scope}`);
}

/** How many parts the chat separates with bars; here the last part takes the words that are left. */
const fieldCounts: ReadonlyMap<string, number> = new Map([
  ["register", 3],
  ["set-description", 2],
  ["set-profile", 2],
  ["set-tags", 2],
  ["set-skills", 3],
  ["set-servers", 3],
]);

/** Writes the command as a person would type it in the chat, so that one parser judges both. */
async function agentsText(given: Arguments, io: Io): Promise<string> {
  const [word = "list", ...words] = given.words;
  if (word === "apply-yaml") return `/agents apply-yaml ${await readDocument(words, io)}`;
  const count = words.some((each) => each.includes("|")) ? 1 : (fieldCounts.get(word) ?? 1);
  const first = words.slice(0, count - 1);
  const last = words.slice(count - 1).join(" ");
  const fields = [...first, ...(last === "" ? [] : [last])].join(" | ");
  return ["/agents", word, fields, ...scopesIn(given)].filter((part) => part !== "").join(" ");
}

async function readDocument([file, ...more]: readonly string[], io: Io): Promise<string> {
  if (file === undefined || more.length > 0) {
    throw new MandateError("usage", "apply-yaml takes one file, or - for standard input.");
  }
  const decoded = decodeText(await readBytes(file, io));
  if ("text" in decoded) return decoded.text;
  throw new MandateError("usage", `${file}: ${decoded.problem}.`);
}

async function readBytes(file: string, io: Io): Promise<Uint8Array> {
  try {
    if (file !== "-") return readRegularFile(resolve(io.cwd, file), maximumBytes);
    if (io.readInput === undefined) throw new Error("there is no standard input");
    return await io.readInput(maximumBytes);
  } catch (error) {
    throw new MandateError("usage", `${file}: ${reasonOf(error)}.`, { cause: error });
  }
}
