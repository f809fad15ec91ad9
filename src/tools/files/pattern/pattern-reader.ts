import { clip } from "../../../text.ts";

/** A pattern that is not understood, or not offered. The message is for the model that wrote it. */
export class PatternRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PatternRefused";
  }
}

/** Reads a pattern character by character and knows its position, for the message of a refusal. */
export class PatternReader {
  readonly text: string;
  position = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  peek(): string {
    const codePoint = this.text.codePointAt(this.position);
    return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
  }

  take(): string {
    const character = this.peek();
    this.position += character.length;
    return character;
  }

  takeIf(expected: string): boolean {
    if (!this.text.startsWith(expected, this.position)) return false;
    this.position += expected.length;
    return true;
  }

  /** The match of a sticky expression at the present position. */
  takeMatching(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.position;
    const found = expression.exec(this.text);
    if (found !== null) this.position += found[0].length;
    return found;
  }

  refuse(reason: string): PatternRefused {
    const shown = clip(this.text, 201);
    return new PatternRefused(
      `The pattern ${JSON.stringify(shown)} is not understood at character ${this.position}: ${reason}.`,
    );
  }
}

export function refuseLineBreak(): PatternRefused {
  return new PatternRefused(
    "The pattern contains a line break, and a search looks at one line at a time. Search for the " +
      "most telling line and use context to see its neighbours.",
  );
}
