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

/** Where a worker ends itself: in its so many-th transaction, just before or just after its commit. */
export interface Death {
  readonly side: (typeof sides)[number];
  readonly commit: number;
}

export const sides = ["inside", "before", "after"] as const;

export const deathVariable = "MANDATE_TORTURE_DEATH";

export function parseDeath(text = ""): Death | undefined {
  const [word, commit] = text.split(":");
  const side = sides.find((each) => each === word);
  return side && { side, commit: Number(commit) };
}
