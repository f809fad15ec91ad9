const escapeKey = "\u001b";
const tokens = new RegExp(`${escapeKey}\\[[?\\d;]*[A-Za-z]|${escapeKey}[^[]|[\\s\\S]`, "gu");
const cursorUp = new RegExp(`^${escapeKey}\\[(\\d+)A$`);
/** The brackets around a frame and its lines, and colours. */
const harmless = new RegExp(`^${escapeKey}\\[(\\?(?:2026|7)[hl]|[\\d;]*m)$`);

/** Enough of a terminal to see what a person would: lines, cursor up, clear the line or to the end. */
export class Screen {
  readonly columns: number;
  #lines: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  /** What stands there, without colours. */
  get lines(): readonly string[] {
    return this.#lines.map((line) => line.trimEnd());
  }

  write(text: string): void {
    for (const [token] of text.matchAll(tokens)) this.#take(token);
  }

  #take(token: string): void {
    const up = cursorUp.exec(token)?.[1];
    if (token === "\n") this.#down();
    else if (token === "\r") this.#column = 0;
    else if (up !== undefined) this.#row = Math.max(0, this.#row - Number(up));
    else if (token === `${escapeKey}[J`) this.#clear();
    else if (token === `${escapeKey}[K`) this.#clearLine();
    else if (!token.startsWith(escapeKey)) this.#print(token);
    else if (!harmless.test(token)) throw new Error(`Unknown: ${JSON.stringify(token)}`);
  }

  #print(character: string): void {
    if (this.#column === this.columns) this.#down();
    const line = (this.#lines[this.#row] ?? "").padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column += 1;
  }

  #down(): void {
    this.#row += 1;
    this.#column = 0;
    this.#lines[this.#row] ??= "";
  }

  #clearLine(): void {
    this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column);
  }

  #clear(): void {
    this.#lines = this.#lines.slice(0, this.#row + 1);
    this.#clearLine();
  }
}
