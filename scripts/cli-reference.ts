// Writes the second half of docs/reference/command-line.md from the commands themselves: what
// `mandate help COMMAND` says. What stands above the mark is written by hand, and stays.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, shownOptions } from "../src/surfaces/cli/command.ts";
import { commands } from "../src/surfaces/cli/commands.ts";

export const referenceFile = join(
  import.meta.dirname,
  "..",
  "docs",
  "reference",
  "command-line.md",
);

const mark =
  "<!-- From here on made by `node scripts/cli-reference.ts`; change the commands instead. -->";

/** The whole file: what people wrote into `present`, then a section for each command. */
export async function cliReference(present: string): Promise<string> {
  const place = present.indexOf(mark);
  if (place < 0) throw new Error(`${referenceFile} has lost its mark: ${mark}`);
  const rows: string[] = [];
  const sections: string[] = [];
  for (const [name, { load, summary }] of Object.entries(commands)) {
    rows.push(`| [\`${name}\`](#${anchorOf(name)}) | ${cell(summary)} |`);
    sections.push(sectionOf(await load()));
  }
  const table = ["## Every command", "", "| command | does |", "|---|---|", ...rows].join("\n");
  return `${[present.slice(0, place) + mark, table, ...sections].join("\n\n")}\n`;
}

function sectionOf(command: Command): string {
  const { about, examples = [], name, usage } = command;
  const rows = shownOptions(command).map(({ form, help, short }) => {
    const other = short === undefined ? "" : `\`-${short}\`, `;
    return `| ${other}\`${form}\` | ${cell(help)} |`;
  });
  return [
    `### ${name}`,
    fenced([`mandate ${name} ${usage}`.trimEnd()]),
    about.replaceAll("<", "&lt;"),
    ...(rows.length > 0 ? [["| option | |", "|---|---|", ...rows].join("\n")] : []),
    ...(examples.length > 0 ? [fenced(examples.map((example) => `mandate ${example}`))] : []),
  ].join("\n\n");
}

/** As GitHub makes one of a heading. */
function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z-]/g, "");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}

function fenced(lines: readonly string[]): string {
  return ["```sh", ...lines, "```"].join("\n");
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(referenceFile, await cliReference(readFileSync(referenceFile, "utf8")));
}
