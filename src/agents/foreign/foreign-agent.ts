import type { AgentFormat } from "./agent-file.ts";
import type { Findings } from "./findings.ts";

/** One agent as its file says it: parsed, not yet understood. */
export interface ForeignAgent {
  readonly format: AgentFormat;
  /** Plain data under the keys of its format. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What it is called where it does not say so: the file's stem, a folder, a key. */
  readonly fallbackName: string;
  /** The text below the front matter. */
  readonly body: string;
  readonly findings: Findings;
  lineOf(key: string): number | undefined;
  /** The text of a file below the source's folder, or undefined after saying why not. */
  include(path: string): string | undefined;
}
