import { storedLine } from "../text.ts";

/**
 * The most characters of a question for approval. A person must be able to read all of it, so a longer
 * call, plan or change is refused without asking.
 */
export const longestApproval = 100_000;

/** What a person decided about a call, plan or change. `said`: the reason that they gave for a no. */
export type Consent =
  | { readonly approved: true }
  | { readonly approved: false; readonly said?: string };

/** The most characters of the reason of a no; the rest is cut. Lines of it are joined. */
export const longestReason = 1000;

const no =
  /^(?:n|no|deny|denied|refuse|refused|reject|rejected)(?:$|[.,;:!–—\n-]|\s+(?:because|since|[-–—]))/i;

/**
 * The reason in a no, as one line without hidden characters; undefined: it gives none.
 * @example reasonIn("no, it is late") // "it is late"
 */
export function reasonIn(answer: string): string | undefined {
  const said = answer.trim();
  const word = no.exec(said)?.[0];
  if (word === undefined) return undefined;
  const keepsWord = /because|since/i.test(word);
  const rest = keepsWord ? said.slice(word.search(/\s/)) : said.slice(word.length);
  const reason = storedLine(rest.replace(/^[\s.,;:!–—-]+/, ""), longestReason);
  return reason === "" ? undefined : reason;
}

/**
 * Whether an answer to an approval is a yes or a no; undefined: neither. A yes must be one of a few words
 * without a condition. A no may give a reason.
 * @example consentIn("no, because it is late") // "no"
 */
export function consentIn(answer: string): "yes" | "no" | undefined {
  const said = answer.trim();
  if (/^(?:y|yes|ok|allow|approve|approved)[.!]?$/i.test(said)) return "yes";
  // "No problem" is not a no: punctuation, or "because", must follow.
  return no.test(said) ? "no" : undefined;
}
