import type { BarKind } from "./doing-of.ts";
import type { Bar } from "./gantt-fold.ts";

/** A part of time, and how many pixels it has. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

export interface DrawnBar {
  readonly kind: BarKind;
  readonly x: number;
  readonly width: number;
  readonly bar: Bar;
}

const narrowest = 1;

/**
 * What is to be drawn of the bars of a row: nothing outside of the window, nothing after `until`,
 * and of those that share a pixel one, so that ten thousand turns are never more than there are
 * pixels.
 */
export function drawnBars(bars: readonly Bar[], window: TimeWindow, until: number): DrawnBar[] {
  const drawn: DrawnBar[] = [];
  const place = (time: number): number => placeOf(time, window);
  let end = -1;
  for (let index = firstAfter(bars, window.from); index < bars.length; index += 1) {
    const bar = bars[index];
    if (bar === undefined || bar.from > window.to || bar.from > until) break;
    const x = Math.max(place(bar.from), 0);
    const right = Math.min(place(Math.min(bar.to ?? until, until)), window.width);
    if (right < 0) continue;
    const width = Math.max(right - x, narrowest);
    // A longer one is drawn from its own beginning; a short one only where nothing is yet.
    if (x + width <= end) continue;
    drawn.push({ kind: bar.kind, x, width, bar });
    end = x + width;
  }
  return drawn;
}

export function placeOf(time: number, { from, to, width }: TimeWindow): number {
  return ((time - from) / Math.max(to - from, 1)) * width;
}

/** Bars follow each other: the first that ends after a time is found by halves. */
function firstAfter(bars: readonly Bar[], time: number): number {
  let low = 0;
  let high = bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const end = bars[middle]?.to;
    if (end !== null && end !== undefined && end < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** Round times since `origin` that stand some eighty pixels apart. */
export function ticksOf(window: TimeWindow, origin: number): readonly number[] {
  const span = Math.max(window.to - window.from, 1);
  const most = Math.max(Math.floor(window.width / 80), 1);
  const step = steps.find((one) => span / one <= most) ?? span;
  const ticks: number[] = [];
  const first = origin + Math.ceil((window.from - origin) / step) * step;
  for (let time = first; time <= window.to && ticks.length <= most + 1; time += step)
    ticks.push(time);
  return ticks;
}
