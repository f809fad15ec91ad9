/**
 * What a call has to pass beside being granted. Rules are read in order, and the last one that
 * matches decides; where none matches, the grant stands. A rule can only take away: `allow` lifts
 * an earlier rule of the same list, never the lack of a grant.
 */
export interface ToolRule {
  /** A tool's name, or `mcp__server__*`, or `*` for every tool. */
  readonly tool: string;
  /**
   * A glob over what the call is about (the command, the path, the address); absent: every call.
   * Where a tool cannot say what a call is about, a rule that allows does not match and one that
   * asks or denies does.
   */
  readonly match?: string;
  readonly action: "allow" | "ask" | "deny";
}

/** The rules of one profile, in their order. A contract holds one for each agent that has any. */
export type RuleSet = readonly ToolRule[];
