import { resolve } from "node:path";
import { decodeText, readRegularFile } from "../../../agents/documents/read-text-file.ts";
import { commandContext } from "../../../application/commands/command-context.ts";
import { executeCommand, fromUser } from "../../../application/commands/execute-command.ts";
import { pinScopes } from "../../../control/records/pins.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import { type Arguments, type Command, type CommandOption, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  ordinaryApplication,
  roleOf,
  roleOption,
  runtimeOptions,
  sessionOption,
} from "../open-runtime.ts";
import { printable, printableJson } from "../printable.ts";
import type { StartedRun, Work } from "../work-on.ts";

const maximumBytes = 1_000_000;

export const agentsCommand: Command = {
  name: "agents",
  usage: "[options] [list|show|register|unregister|set-…|pin|unpin|pins|export-yaml|apply-yaml] …",
  about:
    "Shows and changes who can be delegated to by name, and which profile is the default where. These\n" +
    "are the chat's /agents commands with the same words and the same answers; parts that stand\n" +
    'between bars there are words here: register @writer writer "Writes documents".\n' +
    "apply-yaml takes a file, or - for standard input.",
  options: {
    json: jsonOption,
    ...Object.fromEntries(pinScopes.map((scope) => [scope, scopeOption(scope)])),
    "session-id": { type: "text", value: "ID", help: "the session that session pins are about" },
    role: roleOption,
  },
  words: { least: 0, most: Number.POSITIVE_INFINITY },
  examples: [
    'agents register @writer writer "Writes clear documents"',
    "agents pin @writer --workspace",
    "agents export-yaml > agents.yaml",
    "agents apply-yaml agents.yaml",
  ],
  run: agents,
};

function scopeOption(scope: string): CommandOption {
  const where = scope === "global" ? "everywhere" : `for this ${scope}`;
  return { type: "flag", help: `pin or unpin ${where}` };
}

async function agents(given: Arguments, io: Io): Promise<number> {
  const principal: Principal = { id: "local", role: roleOf(given) };
  const said = fromUser(await commandText(given, io), principal);
  const runtime = await openRuntime(given, io, ordinaryApplication);
  try {
    const place = { session: given.text("session-id"), workspace: io.cwd };
    const outcome = await executeCommand(said, commandContext(runtime, principal, place));
    if (!outcome.ok) throw new MandateError(outcome.code, outcome.reply);
    const reply = given.flag("json") ? printableJson(outcome.data, 2) : outcome.reply.trimEnd();
    io.stdout.write(`${io.stdout.isTerminal ? printable(reply) : reply}\n`);
    return exitCode.done;
  } finally {
    await runtime.close();
  }
}

/** How many parts stand between bars in the chat; here the last one takes the words that are left. */
const fieldCounts: ReadonlyMap<string, number> = new Map([
  ["register", 3],
  ["set-description", 2],
  ["set-profile", 2],
  ["set-tags", 2],
  ["set-skills", 3],
  ["set-servers", 3],
]);

/** The same command as a person would type it in the chat, so that one parser judges both. */
async function commandText(given: Arguments, io: Io): Promise<string> {
  const [word = "list", ...words] = given.words;
  if (word === "apply-yaml") return `/agents apply-yaml ${await readDocument(words, io)}`;
  const count = words.some((each) => each.includes("|")) ? 1 : (fieldCounts.get(word) ?? 1);
  const first = words.slice(0, count - 1);
  const last = words.slice(count - 1).join(" ");
  const fields = [...first, ...(last === "" ? [] : [last])].join(" | ");
  const scopes = pinScopes.filter((scope) => given.flag(scope)).map((scope) => `--${scope}`);
  return ["/agents", word, fields, ...scopes].filter((part) => part !== "").join(" ");
}

async function readDocument(words: readonly string[], io: Io): Promise<string> {
  const [file, ...more] = words;
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
    throw new MandateError("usage", `${file}: ${messageOf(error)}.`, { cause: error });
  }
}

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
