import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { stripHidden } from "../../ports/visible-text.ts";
import { type Command, parseArguments } from "./command.ts";
import { commandNamed, commands } from "./commands.ts";
import { wrapFor } from "./display-width.ts";
import { exitCode, exitCodeOfError } from "./exit-code.ts";
import { asTyped, describeCommand, describeCommands } from "./help/help.ts";
import type { Io, Writer } from "./io.ts";
import { printable } from "./printable.ts";
import { styleFor } from "./style.ts";

/**
 * The command line: takes the words after the program's name, gives an exit code. This folder owns
 * commands, their help and what a terminal shows of runs; src/surfaces/tui is the chat screen. It
 * imports the runtime, the services of src/application and the log.
 */
export async function main(typed: readonly string[], given: Io): Promise<number> {
  const io = { ...given, stdout: withoutHidden(given.stdout), stderr: withoutHidden(given.stderr) };
  try {
    return await dispatch(typed, io);
  } catch (error) {
    io.stderr.write(`${wrapFor(io.stderr, describe(error, io))}\n`);
    return exitCodeOfError(error);
  }
}

/**
 * A terminal gets our own sequences around text that each command has made printable. Files and
 * pipes get no sequences at all: a terminal or an editor may show them later.
 */
function withoutHidden(writer: Writer): Writer {
  if (writer.isTerminal) return writer;
  const write = (text: string): void => writer.write(stripHidden(text));
  // Size and state of the writer may change while the program runs, so they are inherited.
  return Object.create(writer, { write: { value: write, enumerable: true } }) as Writer;
}

async function dispatch(typed: readonly string[], io: Io): Promise<number> {
  const [word, ...rest] = typed;
  if (word === undefined) {
    await help([], io, io.stderr);
    return exitCode.usage;
  }
  if (word === "--help" || word === "-h" || word === "help") {
    await help(rest, io, io.stdout);
    return exitCode.done;
  }
  const command = await load(word);
  // A chat command is typed as it is: its name is the first of its words.
  const given = parseArguments(command, word.startsWith("/") ? typed : rest, io.program);
  if (given.flag("help")) {
    await help([word], io, io.stdout);
    return exitCode.done;
  }
  return command.run(given, io);
}

async function help([word]: readonly string[], io: Io, writer: Io["stdout"]): Promise<void> {
  const text =
    word === undefined
      ? describeCommands(writer, io)
      : describeCommand(await load(word), writer, io);
  writer.write(text);
}

function load(word: string): Promise<Command> {
  const entry = commandNamed(word);
  if (entry === undefined) throw unknownCommand(word);
  return entry.load();
}

function unknownCommand(word: string): MandateError {
  const known = Object.keys(commands);
  const nearest = nearestKey(word, known);
  const hint =
    nearest === undefined ? "mandate help lists what there is." : `Did you mean ${nearest}?`;
  const what = word.startsWith("-") ? "option" : "command";
  return new MandateError("usage", `There is no ${what} ${JSON.stringify(word)}. ${hint}`);
}

/** A sentence for what the caller can fix. Any other error is a defect of Mandate, and says so. */
function describe(error: unknown, io: Io): string {
  const { paint } = styleFor(io.stderr, io);
  const wantsStack = Boolean(io.environment["MANDATE_DEBUG"]);
  if (wantsStack && error instanceof Error) return printable(error.stack ?? error.message);
  const said = printable(messageOf(error));
  const message = asTyped(said, io);
  if (error instanceof MandateError) return `${paint.bad("mandate:")} ${message}`;
  return `${paint.bad("mandate:")} ${message}\nThis is a defect in Mandate itself; MANDATE_DEBUG=1 shows where.`;
}
