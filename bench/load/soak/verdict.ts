import type { Sample } from "./sample.ts";

export interface Line {
  readonly name: "heap" | "external" | "rss" | "descriptors" | "handles";
  readonly unit: "MB" | "";
  /** Its growth in an hour, by the line that fits best, over the second half. */
  readonly perHour: number;
  readonly bound: number;
  readonly first: number;
  readonly last: number;
  readonly isFlat: boolean;
}

const megabyte = 1024 * 1024;

/**
 * What may be seen as growth in an hour and is none: three memories of what was looked at fill up to
 * 20,000 entries each, which takes longer than an hour and some megabytes. A leak of two kilobytes
 * for each run is beyond it.
 */
const bounds = { heap: 8, external: 2, rss: 16, descriptors: 2, handles: 4 };

/** Flat or not, by the second half: the first is for caches to fill and code to be compiled. */
export function judge(samples: readonly Sample[]): readonly Line[] {
  const half = samples.slice(Math.floor(samples.length / 2));
  const lineOf = (name: Line["name"], unit: Line["unit"]): Line => {
    const scale = unit === "MB" ? megabyte : 1;
    const points = half.map((sample) => [sample.seconds / 3600, sample[name] / scale] as const);
    const perHour = slopeOf(points);
    return {
      ...{ name, unit, perHour, bound: bounds[name] },
      first: points[0]?.[1] ?? 0,
      last: points.at(-1)?.[1] ?? 0,
      isFlat: perHour <= bounds[name],
    };
  };
  return [
    lineOf("heap", "MB"),
    lineOf("external", "MB"),
    lineOf("rss", "MB"),
    lineOf("descriptors", ""),
    lineOf("handles", ""),
  ];
}

/** The slope of the line with the least sum of squares. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const count = points.length;
  if (count < 2) return 0;
  const middleX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const middleY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const above = points.reduce((sum, [x, y]) => sum + (x - middleX) * (y - middleY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - middleX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
