/** What a check found: problems stop a release, notes are for whoever reads its report. */
export interface Outcome {
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export function outcomeOf(problems: readonly string[], ...notes: readonly string[]): Outcome {
  return { problems, notes };
}

/** The end of what a program said: the reason stands there. */
export function tail(text: string, lines = 12): string {
  return text.trim().split("\n").slice(-lines).join("\n    ");
}
