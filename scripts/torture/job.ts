/** What a worker is to do; the same for every process that works on one run. */
export interface Job {
  readonly home: string;
  readonly workspace: string;
  readonly children: number;
  /** Extra turns of every child: they make a run longer, not different. */
  readonly rounds: number;
  /** Divides the model's waits. */
  readonly speed: number;
  readonly synchronous: "full" | "normal";
}

/** Where a worker ends itself: just before or just after its so many-th commit. */
export interface Death {
  readonly side: "before" | "after";
  readonly commit: number;
}

export const deathVariable = "MANDATE_TORTURE_DEATH";

export function parseDeath(text: string | undefined): Death | undefined {
  const [, side, commit] = /^(before|after):(\d+)$/.exec(text ?? "") ?? [];
  if (side === undefined) return undefined;
  return { side: side === "before" ? "before" : "after", commit: Number(commit) };
}
