/** The words of one simple command, quotes removed. */
export type Words = readonly string[];

const maximumLength = 16_384;
const maximumCommands = 50;

/**
 * The simple commands of a line for sh, or undefined unless every part of it is plain words:
 * whatever the shell would expand, define, group, or send to a file is not looked into. A reader
 * that understands less than the shell is safe as long as it says so.
 */
export function lexCommand(line: string): readonly Words[] | undefined {
  if (line.length > maximumLength) return undefined;
  const commands: string[][] = [];
  let words: string[] = [];
  let at = 0;
  while (at < line.length) {
    const rest = line.slice(at, at + 64);
    const space = /^[ \t]+/.exec(rest);
    if (space !== null) {
      at += space[0].length;
      continue;
    }
    const harmless = harmlessRedirection.exec(rest);
    if (harmless !== null) {
      at += harmless[0].length;
      continue;
    }
    const operator = /^(?:&&|\|\||;|\||&|\n)/.exec(rest);
    if (operator !== null) {
      at += operator[0].length;
      // An operator must follow a word: only a line's end may stand alone.
      if (words.length === 0 && operator[0] !== "\n") return undefined;
      if (words.length > 0) commands.push(words);
      words = [];
      continue;
    }
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    words.push(word.text);
    at = word.end;
  }
  if (words.length > 0) commands.push(words);
  return commands.length === 0 || commands.length > maximumCommands ? undefined : commands;
}

/** A redirection to /dev/null, or from one output to the other, at the end of its word. */
const harmlessRedirection =
  /^(?:[12]?>(?:&[12]|[ \t]*\/dev\/null)|<[ \t]*\/dev\/null)(?=[ \t\n;|&]|$)/;

/** What means itself in every shell, outside quotes. */
const plain = /[A-Za-z0-9_./:,@%+=-]/;

/** What means itself behind a letter, as in HEAD~2. */
const inWord = /[~^]/;

function readWord(line: string, start: number): { text: string; end: number } | undefined {
  let text = "";
  let at = start;
  for (;;) {
    const character = line[at];
    if (character === undefined || /[ \t\n;|&]/.test(character)) return { text, end: at };
    if (character === "'" || character === '"') {
      const close = line.indexOf(character, at + 1);
      if (close === -1) return undefined;
      const inside = line.slice(at + 1, close);
      if (!isLiteral(inside, character)) return undefined;
      text += inside;
      at = close + 1;
      continue;
    }
    const isInside = /[A-Za-z0-9_]$/.test(text) && inWord.test(character);
    if (!isInside && !plain.test(character)) return undefined;
    text += character;
    at++;
  }
}

/** Whether the quoted text means itself: three characters in double quotes and all control characters do not. */
function isLiteral(inside: string, quote: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point.
  if (/[\u0000-\u0008\u000B-\u001F\u007F]/.test(inside)) return false;
  return quote === "'" || !/[$`\\]/.test(inside);
}
