import { type Command, shownOptions } from "../command.ts";
import { commandGroups, commands } from "../commands.ts";
import { padEnd, wrap } from "../display-width.ts";
import type { Io, Writer } from "../io.ts";
import { lineWidth, type Style, styleFor } from "../style.ts";

type Row = readonly [left: string, right: string];

const variables = (program: string): readonly Row[] => [
  ["MANDATE_HOME", "where everything is kept"],
  ["MANDATE_MODEL", "the default model, provider/model"],
  ["MANDATE_PLAYBOOK", "a file with scripted answers instead of a language model"],
  ["MANDATE_CONFIG", "a configuration file instead of the nearest mandate.yaml"],
  ["ANTHROPIC_API_KEY …", `keys of providers; ${program} doctor names them all`],
  ["NO_COLOR", "no colours"],
  ["MANDATE_DEBUG", "show where an error comes from"],
];

/** All commands in groups, for `help` and for a call without a command. */
export function describeCommands(writer: Writer, io: Io): string {
  const { program } = io;
  const { columns, paint } = helpStyle(writer, io);
  const groups = Object.entries(commandGroups).map(
    ([title, commands]) => [title, Object.entries(commands)] as const,
  );
  const all = [...groups, ["Environment", variables(program)] as const];
  const width = Math.max(...all.flatMap(([, rows]) => rows.map(([left]) => left.length)));
  return [
    `${paint.strong("Mandate")}: sub-agents under a contract that code enforces`,
    "",
    `${paint.strong("Usage:")} ${program} COMMAND [options]`,
    ...all.flatMap(([title, rows]) => [
      "",
      paint.strong(title),
      ...table(rows, { columns, paint, width }),
    ]),
    "",
    ...wrap(
      `${program} help COMMAND, or COMMAND --help, says more. --version prints the version.`,
      columns,
    ),
    ...wrap(
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by policy, 130 interrupted",
      columns,
    ),
    "",
  ].join("\n");
}

/** One command: its usage, what it does, its options and examples. */
export function describeCommand(command: Command, writer: Writer, io: Io): string {
  const { program } = io;
  const { columns, paint } = helpStyle(writer, io);
  const rows = shownOptions(command).map(
    ({ form, help, short }): Row => [`${short === undefined ? "" : `-${short}, `}${form}`, help],
  );
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return [
    `${paint.strong("Usage:")} ${`${program} ${command.name} ${command.usage}`.trimEnd()}`,
    "",
    ...reflow(asTyped(command.about, io), columns),
    ...(rows.length > 0 ? ["", ...table(rows, { columns, paint, width })] : []),
    ...(command.examples
      ? ["", paint.strong("Examples"), ...command.examples.map((each) => `  ${program} ${each}`)]
      : []),
    "",
  ].join("\n");
}

const ownCommand = new RegExp(`\\bmandate(?= (?:help|${Object.keys(commands).join("|")})\\b)`, "g");

/** A text with the commands in it as a person types them here; texts of the runtime say `mandate`. */
export function asTyped(text: string, { program }: Pick<Io, "program">): string {
  return text.replaceAll(ownCommand, () => program);
}

interface HelpStyle {
  readonly paint: Style["paint"];
  readonly columns: number;
}

function helpStyle(writer: Writer, io: Io): HelpStyle {
  return { paint: styleFor(writer, io).paint, columns: lineWidth(writer) };
}

/** Two columns; the second one keeps its left edge where it is wrapped. */
function table(
  rows: readonly Row[],
  { columns, paint, width }: HelpStyle & { readonly width: number },
): readonly string[] {
  const rest = Math.max(20, columns - width - 4);
  return rows.flatMap(([left, right]) =>
    wrap(right, rest).map((line, index) => {
      const start = padEnd(index === 0 ? left : "", width);
      return `  ${index === 0 ? paint.accent(start) : start}  ${line}`;
    }),
  );
}

/** Paragraphs as they are written, unless the terminal is narrower than their lines. */
function reflow(text: string, columns: number): readonly string[] {
  return text.split("\n\n").flatMap((paragraph, index) => {
    const lines = paragraph.split("\n");
    const fits = lines.every((line) => line.length <= columns || line.startsWith(" "));
    return [...(index > 0 ? [""] : []), ...(fits ? lines : wrap(lines.join(" "), columns))];
  });
}
