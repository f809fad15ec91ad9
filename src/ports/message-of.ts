/** What an error says. Anything can be thrown, also what has no text: asking must not throw again. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something that cannot be put into words was thrown";
  }
}
