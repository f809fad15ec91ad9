import type { Command } from "./command.ts";
import { commands } from "./commands.ts";
import { padEnd } from "./display-width.ts";
import type { Style } from "./style.ts";

export function describeCommands({ paint }: Style, program: string): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return [
    `${paint.strong("mandate")}: delegate work to sub-agents under a contract that code enforces`,
    "",
    `${paint.strong("Usage:")} ${program} COMMAND [options]`,
    "",
    ...columns(rows, paint.accent),
    "",
    `${program} help COMMAND, or COMMAND --help, says more. --version prints the version.`,
    "",
    `${paint.strong("Environment")}`,
    ...columns(
      [
        ["MANDATE_HOME", "where everything is kept"],
        ["MANDATE_MODEL", "the default model, provider/model"],
        ["MANDATE_PLAYBOOK", "a file with scripted answers instead of a language model"],
        ["MANDATE_CONFIG", "a configuration file instead of the nearest mandate.yaml"],
        ["ANTHROPIC_API_KEY …", `keys of providers; ${program} doctor names them all`],
        ["NO_COLOR", "no colours"],
        ["MANDATE_DEBUG", "show where an error comes from"],
      ],
      paint.accent,
    ),
    "",
    `${paint.strong("Exit codes")} 0 done, 1 failed, 2 wrong usage, 3 refused by policy, 130 interrupted`,
    "",
  ].join("\n");
}

export function describeCommand(command: Command, { paint }: Style, program: string): string {
  const options = Object.entries(command.options).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const value =
      option.type === "flag"
        ? ""
        : option.type === "text"
          ? ` ${option.value}`
          : `[=${option.value}]`;
    return [`${short}--${name}${value}`, option.help] as const;
  });
  return [
    `${paint.strong("Usage:")} ${`${program} ${command.name} ${command.usage}`.trimEnd()}`,
    "",
    command.about,
    ...(options.length > 0 ? ["", ...columns(options, paint.accent)] : []),
    ...(command.examples
      ? ["", paint.strong("Examples"), ...command.examples.map((each) => `  ${program} ${each}`)]
      : []),
    "",
  ].join("\n");
}

function columns(
  rows: readonly (readonly [string, string])[],
  paint: (text: string) => string,
): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${paint(padEnd(left, width))}  ${right}`);
}
