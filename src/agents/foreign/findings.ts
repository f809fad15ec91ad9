import type { Diagnostic, Loss } from "./agent-file.ts";

const maximumFindings = 1000;

/** What is noticed while one agent or one file is read. */
export class Findings {
  readonly diagnostics: Diagnostic[] = [];
  readonly loss: Loss[] = [];

  note(message: string, line?: number): void {
    this.#add("note", message, line);
  }

  warn(message: string, line?: number): void {
    this.#add("warning", message, line);
  }

  /** The agent cannot be used: reading continues, so that everything wrong is said at once. */
  refuse(message: string, line?: number): void {
    this.#add("error", message, line);
  }

  lose(field: string, kind: Loss["kind"], detail: string): void {
    if (this.loss.length < maximumFindings) this.loss.push({ field, kind, detail });
  }

  get hasFailed(): boolean {
    return this.diagnostics.some(({ severity }) => severity === "error");
  }

  /** `agent`: the agent that it is about, where the file holds several. */
  take(other: Findings, agent?: string): void {
    const about = agent === undefined ? {} : { agent };
    for (const diagnostic of other.diagnostics) this.add({ ...diagnostic, ...about });
    for (const loss of other.loss) {
      if (this.loss.length < maximumFindings) this.loss.push({ ...loss, ...about });
    }
  }

  /** An error is never left out, however much has been said already. */
  add(diagnostic: Diagnostic): void {
    const isError = diagnostic.severity === "error";
    if (this.diagnostics.length < maximumFindings || (isError && !this.hasFailed)) {
      this.diagnostics.push(diagnostic);
    }
  }

  #add(severity: Diagnostic["severity"], message: string, line: number | undefined): void {
    this.add(line === undefined ? { severity, message } : { severity, line, message });
  }
}
