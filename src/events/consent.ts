/**
 * Characters of the longest question for consent. A person approves what they read, so a call, a
 * plan or a change that does not fit is not asked about: it is refused.
 */
export const longestApproval = 100_000;

/**
 * What an answer to an approval says; undefined: neither, whatever else it may mean. Only so many
 * words are a yes, and a yes bears no condition. A no may give its reason.
 */
export function consentIn(answer: string): "yes" | "no" | undefined {
  const said = answer.trim();
  if (/^(?:y|yes|ok|allow|approve|approved)[.!]?$/i.test(said)) return "yes";
  // "No problem" is none: what follows is set off, or begins with the reason.
  return /^(?:n|no|deny|denied|refuse|refused|reject|rejected)(?:$|[.,;:!–—\n-]|\s+(?:because|since|[-–—]))/i.test(
    said,
  )
    ? "no"
    : undefined;
}
