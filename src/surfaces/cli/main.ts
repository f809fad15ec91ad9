import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { stripHidden } from "../../ports/visible-text.ts";
import { parseArguments } from "./arguments.ts";
import { commands } from "./commands.ts";
import { exitCode, exitCodeOfError } from "./exit-code.ts";
import type { Io, Writer } from "./io.ts";
import { printable } from "./printable.ts";
import { styleFor } from "./style.ts";

/** The command line: what was typed after the program's name in, an exit code out. */
export async function main(typed: readonly string[], given: Io): Promise<number> {
  const io = { ...given, stdout: withoutHidden(given.stdout), stderr: withoutHidden(given.stderr) };
  try {
    return await dispatch(typed, io);
  } catch (error) {
    io.stderr.write(`${describe(error, io)}\n`);
    return exitCodeOfError(error);
  }
}

/**
 * A terminal gets our own sequences around text that each command has made printable. Files and
 * pipes get no sequences at all: what is written there is shown on a terminal or in an editor later.
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
  const entry = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (entry === undefined) throw unknownCommand(word);
  const command = await entry.load();
  const given = parseArguments(command, rest);
  if (given.flag("help")) {
    await help([word], io, io.stdout);
    return exitCode.done;
  }
  return command.run(given, io);
}

async function help([word]: readonly string[], io: Io, writer: Io["stdout"]): Promise<void> {
  const { describeCommand, describeCommands } = await import("./help.ts");
  const style = styleFor(writer, io);
  if (word === undefined) {
    writer.write(describeCommands(style, io.program));
    return;
  }
  const entry = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (entry === undefined) throw unknownCommand(word);
  writer.write(describeCommand(await entry.load(), style, io.program));
}

function unknownCommand(word: string): MandateError {
  const known = Object.keys(commands);
  const nearest = nearestKey(word, known);
  const hint =
    nearest === undefined ? `There are: ${known.join(", ")}.` : `Did you mean ${nearest}?`;
  const what = word.startsWith("-") ? "option" : "command";
  return new MandateError("usage", `There is no ${what} ${JSON.stringify(word)}. ${hint}`);
}

/** A sentence for what a caller can mend. Anything else is our mistake, and says so. */
function describe(error: unknown, io: Io): string {
  const { paint } = styleFor(io.stderr, io);
  const wantsStack = Boolean(io.environment["MANDATE_DEBUG"]);
  if (wantsStack && error instanceof Error) return printable(error.stack ?? error.message);
  const message = printable(error instanceof Error ? error.message : String(error));
  if (error instanceof MandateError) return `${paint.bad("mandate:")} ${message}`;
  return `${paint.bad("mandate:")} ${message}\nThis is a mistake in Mandate itself; MANDATE_DEBUG=1 shows where.`;
}
