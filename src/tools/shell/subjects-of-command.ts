import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import { lexCommand, type Words } from "./lex-command.ts";
import { runsOtherPrograms } from "./runs-other-programs.ts";

/**
 * What a line runs, as one text for each simple command, so that a rule has to fit every one of
 * them. Undefined when that cannot be told for certain: then each rule takes its stricter reading.
 */
export function subjectsOfCommand(line: string): CallSubjects | undefined {
  const commands = lexCommand(line);
  return commands && subjectsOf(commands);
}

export function subjectsOfArguments(argv: Words): CallSubjects | undefined {
  return subjectsOf([argv]);
}

function subjectsOf(commands: readonly Words[]): CallSubjects | undefined {
  const values = new Set<string>();
  for (const words of commands) {
    const [program = "", ...args] = words;
    // An assignment, an option or a path with odd characters is not the name of a program.
    if (!/^[A-Za-z0-9_./+][A-Za-z0-9_./+-]*$/.test(program)) return undefined;
    const name = program.slice(program.lastIndexOf("/") + 1);
    if (name === "" || runsOtherPrograms(name, args)) return undefined;
    values.add(render(words));
    // By its name alone as well: a rule that forbids rm means /bin/rm too.
    if (name !== program) values.add(render([name, ...args]));
  }
  return { kind: "text", values: [...values] };
}

/** One text for one list of words: a word that would not stand for itself is quoted. */
function render(words: Words): string {
  return words
    .map((word) =>
      /^[A-Za-z0-9_./:,@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
    )
    .join(" ");
}
