import { firstSentence } from "../first-sentence.ts";
import type { ProfileFields } from "../profile.ts";
import type { Findings } from "./findings.ts";

/**
 * A profile needs both a description and a prompt. Where one of them is missing the other says what
 * there is to say; without both there is nothing to be used.
 */
export function completeTexts(
  { description, prompt }: { readonly description: string | undefined; readonly prompt: string },
  { called, substitute }: { readonly called: string; readonly substitute?: string },
  findings: Findings,
): Pick<ProfileFields, "description" | "prompt"> {
  if (description === undefined && prompt === "" && substitute === undefined) {
    findings.refuse("there is neither a description nor a prompt; it cannot be used");
    return {};
  }
  if (description === undefined) {
    findings.warn("there is no description; say when to delegate to it");
  }
  if (prompt === "") findings.warn("there is no prompt; its description is used as one");
  const short = description ?? (firstSentence(prompt) || (substitute ?? called));
  return { description: short, prompt: prompt === "" ? short : prompt };
}
