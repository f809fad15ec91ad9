import { clip } from "../../text.ts";
import type { Findings } from "./findings.ts";

/** Where a restriction stands, for what is said about it. */
export interface ToolsPlace {
  readonly field: string;
  readonly line: number | undefined;
  readonly findings: Findings;
  /** Names of MCP servers that the file declares. */
  readonly servers: readonly string[];
  /** A map of tools says nothing about those that it does not name, as in opencode. */
  readonly isOpenMap?: boolean;
}

/** For messages: a file can hold a name of any length. */
export function shorten(text: string): string {
  return clip(text, 60);
}
