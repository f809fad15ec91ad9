import { clip } from "../../../text.ts";
import { PatternRefused } from "./pattern-node.ts";

/** Goes through a pattern character by character and knows where it is, for the message. */
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

  /** What a sticky expression finds right here. */
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
