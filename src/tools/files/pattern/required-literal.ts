import type { PatternNode } from "./pattern-node.ts";

/** Longer ones find nothing sooner, and a search for them can be made slow on purpose. */
const longest = 32;

/**
 * Bytes that every match contains, the longest such run up to a bound; empty when there are none.
 * Most lines and most files can be passed over for lack of it.
 */
export function requiredLiteral(node: PatternNode): Buffer {
  let best = "";
  let run = "";
  const end = () => {
    if (run.length > best.length) best = run;
    run = "";
  };
  const visit = (part: PatternNode): void => {
    if (part.kind === "sequence") for (const each of part.parts) visit(each);
    else if (part.kind === "one" && part.of.length === 2 && part.of[0] === part.of[1]) {
      run += String.fromCodePoint(part.of[0] ?? 0);
    } else if (part.kind === "repeat" && part.least > 0) {
      // Once at least, and what stands before and after it need not touch.
      end();
      visit(part.part);
      end();
    } else if (part.kind !== "assert") end();
  };
  visit(node);
  end();
  return Buffer.from([...best].slice(0, longest).join(""));
}
