/**
 * The most characters of a question for approval. A person must be able to read all of it, so a longer
 * call, plan or change is refused without asking.
 */
export const longestApproval = 100_000;

/**
 * Whether an answer to an approval is a yes or a no; undefined: neither. A yes must be one of a few words
 * without a condition. A no may give a reason.
 * @example consentIn("no, because it is late") // "no"
 */
export function consentIn(answer: string): "yes" | "no" | undefined {
  const said = answer.trim();
  if (/^(?:y|yes|ok|allow|approve|approved)[.!]?$/i.test(said)) return "yes";
  // "No problem" is not a no: punctuation, or "because", must follow.
  return /^(?:n|no|deny|denied|refuse|refused|reject|rejected)(?:$|[.,;:!–—\n-]|\s+(?:because|since|[-–—]))/i.test(
    said,
  )
    ? "no"
    : undefined;
}
