import { readComplaint } from "./provider-complaint.ts";

const settings =
  /\b(?:temperature|top_?p|reasoning(?:[_.]?effort)?|thinking(?:[_ ]?(?:level|budget|config))?|effort)\b/i;
const refusal =
  /support|unknown|unrecogni[sz]ed|invalid|not (?:allowed|permitted|available)|deprecated|must be|only/i;

/** Whether a provider refused a request because of how the model was to answer, not of what it said. */
export function isAboutSettings(error: unknown): boolean {
  const { status, message, text } = readComplaint(error);
  if (status !== 400 && status !== 422) return false;
  // Only the beginning: some servers quote the whole request after their complaint.
  const said = `${message} ${text}`.slice(0, 1000);
  return settings.test(said) && refusal.test(said);
}
