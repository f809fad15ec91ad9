/** The commands that a Markdown document shows, taken apart as a shell would. */

export interface GuideCommand {
  /** The line in the document, counted from 1. */
  readonly line: number;
  /** What stands after `mandate`. */
  readonly words: readonly string[];
  /** Variables that stand before it. */
  readonly environment: Readonly<Record<string, string>>;
  /** The file that its output goes to. */
  readonly output: string | undefined;
}

interface ShellLine {
  readonly line: number;
  readonly text: string;
}

/**
 * Every call of `mandate` that a document shows, also one in a pipe or in `$(…)`.
 *
 * @example guideCommands("```sh\nmandate ls --json\n```") // one command: ls --json
 */
export function guideCommands(markdown: string): readonly GuideCommand[] {
  return shellLines(markdown).flatMap(({ line, text }) =>
    commandsIn(text).flatMap((words) => {
      const found = commandOf(words);
      return found === undefined ? [] : [{ line, ...found }];
    }),
  );
}

/** Lines of `sh` blocks, and of `text` blocks those after a prompt. A backslash at the end joins two lines. */
function shellLines(markdown: string): readonly ShellLine[] {
  const found: ShellLine[] = [];
  let language: string | undefined;
  let begun: ShellLine | undefined;
  for (const [index, raw] of markdown.split("\n").entries()) {
    const fence = /^\s*```(?<name>\w*)/.exec(raw);
    if (fence !== null) {
      language = language === undefined ? fence.groups?.["name"] : undefined;
      continue;
    }
    const isTyped = language === "sh" || (language === "text" && raw.startsWith("$ "));
    if (!isTyped) continue;
    const text = (begun?.text ?? "") + raw.replace(/^\$ /, "").replace(/\\$/, "");
    const line = begun?.line ?? index + 1;
    begun = raw.endsWith("\\") ? { line, text } : undefined;
    if (begun === undefined) found.push({ line, text });
  }
  return found;
}

const token =
  /(?<comment>(?<=^|\s)#.*)|(?<nested>\$\([^)]*\))|(?<quoted>"(?:[^"\\]|\\.)*"|'[^']*')|(?<end>&&|\|\||[;|])|(?<space>\s+)|(?<plain>[^\s"';|$]+|[$&])/gu;

/** The simple commands of a line, in words. */
function commandsIn(text: string): readonly (readonly string[])[] {
  const commands: string[][] = [];
  let words: string[] = [];
  let isJoined = false;
  const add = (piece: string) => {
    if (isJoined) words.push(`${words.pop() ?? ""}${piece}`);
    else words.push(piece);
    isJoined = true;
  };
  for (const { groups = {} } of text.matchAll(token)) {
    const { end, nested, plain, quoted } = groups;
    if (nested !== undefined)
      commands.push(...commandsIn(nested.slice(2, -1)).map((one) => [...one]));
    if (quoted?.includes("$(")) {
      for (const [, inner = ""] of quoted.matchAll(/\$\(([^)]*)\)/g)) {
        commands.push(...commandsIn(inner).map((one) => [...one]));
      }
    }
    if (end !== undefined) {
      commands.push(words);
      words = [];
    }
    const piece = quoted?.slice(1, -1) ?? plain ?? nested;
    if (piece === undefined) isJoined = false;
    else add(piece);
  }
  return [...commands, words];
}

function commandOf(words: readonly string[]): Omit<GuideCommand, "line"> | undefined {
  const environment: Record<string, string> = {};
  let rest = [...words];
  for (let match = /^([A-Z_]+)=(.*)$/.exec(rest[0] ?? ""); match !== null; ) {
    environment[match[1] ?? ""] = match[2] ?? "";
    rest = rest.slice(1);
    match = /^([A-Z_]+)=(.*)$/.exec(rest[0] ?? "");
  }
  if (rest.slice(0, 5).join(" ") === "npm run -s mandate --") rest = ["mandate", ...rest.slice(5)];
  if (rest[0] !== "mandate") return undefined;
  const redirected = rest.indexOf(">");
  const output = redirected < 0 ? undefined : rest[redirected + 1];
  const own = redirected < 0 ? rest.slice(1) : rest.slice(1, redirected);
  return { words: own, environment, output };
}
