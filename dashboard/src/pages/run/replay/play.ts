const shortestPauseMs = 50;
const longestPauseMs = 250;
const wholeMs = 15_000;

/** Between two steps: a short run is shown event by event, and none takes more than some seconds. */
export function playPause(count: number): number {
  return Math.min(Math.max(wholeMs / Math.max(count, 1), shortestPauseMs), longestPauseMs);
}

export function nextPlace(place: number, count: number): number {
  return Math.min(place + Math.max(Math.round(count / (wholeMs / shortestPauseMs)), 1), count);
}
