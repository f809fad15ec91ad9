/** What one repetition of one measure of one subject gave: numbers, or what went wrong. */
export interface Sample {
  readonly error?: string;
  readonly stats?: { readonly events?: number; readonly delegations?: number };
  readonly [field: string]: unknown;
}

/** As the peers' benchmark writes it: by measure, then by subject and variant. */
export interface Report {
  readonly started: string;
  readonly env: {
    readonly node: string;
    readonly cpu?: string | undefined;
    readonly cores: number;
    readonly reps: number;
    readonly load: readonly number[];
  };
  readonly versions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly measures: Readonly<Record<string, Readonly<Record<string, readonly Sample[]>>>>;
}

export function median(values: readonly number[]): number {
  const sorted = values.filter(Number.isFinite).toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

function numbersOf(report: Report, measure: string, subject: string, field: string): number[] {
  const samples = report.measures[measure]?.[subject] ?? [];
  return samples.map((sample) => Number(sample[field]));
}

/** NaN when it was not measured. */
export function medianOf(report: Report, measure: string, subject: string, field: string): number {
  return median(numbersOf(report, measure, subject, field));
}

/** Within each repetition first: what slows one down then slows the other down as well. */
export function ratioOf(
  report: Report,
  measure: string,
  field: string,
  subject: string,
  floor: string,
): number {
  const below = numbersOf(report, measure, floor, field);
  const above = numbersOf(report, measure, subject, field);
  return median(above.map((value, index) => value / (below[index] ?? Number.NaN)));
}

/** What went wrong with us: a figure of a run that did not hold is none. */
export function errorsIn(report: Report): string[] {
  return failures(report)
    .filter(({ subject }) => subject.startsWith("mandate"))
    .map(({ error, measure, subject }) => `${measure} of ${subject}: ${error}`);
}

/** Those of others that could not be measured here, and why. */
export function unmeasured(report: Report): string[] {
  const others = failures(report).filter(({ subject }) => !subject.startsWith("mandate"));
  const bySubject = Map.groupBy(others, ({ subject }) => subject);
  return [...bySubject].map(([subject, all]) => {
    const measures = [...new Set(all.map(({ measure }) => measure))].join(", ");
    return `${subject} (${measures}): ${reasonIn(all[0]?.error ?? "")}`;
  });
}

/** The sentence of a stack trace. */
function reasonIn(error: string): string {
  const line = error.split("\n").find((one) => /error|could not|cannot/i.test(one));
  return (line ?? error.split("\n", 1)[0] ?? "").trim().slice(0, 160);
}

function failures({ measures }: Report) {
  return Object.entries(measures).flatMap(([measure, subjects]) =>
    Object.entries(subjects).flatMap(([subject, samples]) =>
      samples.flatMap(({ error }) => (error === undefined ? [] : [{ measure, subject, error }])),
    ),
  );
}

/** Events that were stored while it was measured, and verified afterwards. */
export function verifiedEvents(report: Report): number {
  return Object.values(report.measures)
    .flatMap((subjects) => Object.entries(subjects))
    .filter(([subject]) => subject.startsWith("mandate"))
    .flatMap(([, samples]) => samples)
    .reduce((sum, { stats }) => sum + (stats?.events ?? 0), 0);
}
