import { Matcher } from "../pattern/matcher.ts";
import type { PatternNode } from "../pattern/pattern-node.ts";
import { requiredLiteral } from "../pattern/required-literal.ts";

/** A pattern, ready to be looked for in lines. */
export interface LineSearch {
  readonly matcher: Matcher;
  /** Bytes without which no line matches; may be empty. */
  readonly literal: Buffer;
  /**
   * Whether a carriage return before a line break belongs to the line. It does not, so that `x$`
   * finds the same in files of both kinds; unless the pattern names it.
   */
  readonly keepsReturn: boolean;
}

export function lineSearch(node: PatternNode): LineSearch {
  return {
    matcher: new Matcher(node),
    literal: requiredLiteral(node),
    keepsReturn: namesReturn(node),
  };
}

function namesReturn(node: PatternNode): boolean {
  switch (node.kind) {
    case "one":
      return node.of.length === 2 && node.of[0] === 13 && node.of[1] === 13;
    case "sequence":
      return node.parts.some(namesReturn);
    case "choice":
      return node.options.some(namesReturn);
    case "repeat":
      return namesReturn(node.part);
    case "assert":
      return false;
    default:
      return node satisfies never;
  }
}
