/**
 * A restriction on calls of a granted tool. The last matching rule of a list decides; where none
 * matches, the call is allowed. `allow` only cancels an earlier rule of the same list; it grants nothing.
 */
export interface ToolRule {
  /** A tool's name, or `mcp__server__*`, or `*` for every tool. */
  readonly tool: string;
  /**
   * A glob over the command, path or address of the call; absent: every call. Where a tool does not
   * declare such values, an `allow` rule does not match, and an `ask` or `deny` rule does.
   */
  readonly match?: string;
  readonly action: "allow" | "ask" | "deny";
}

/** The rules of one profile, in their order. A contract contains one set for each ancestor with rules. */
export type RuleSet = readonly ToolRule[];
