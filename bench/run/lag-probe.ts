/**
 * How long the event loop keeps others waiting. A block of 50 ms counts as 50, 45, 40 … ms: that is
 * what events would have waited that came at any moment of it.
 */
export function lagProbe(stepMs = 5): () => { readonly p99: number; readonly max: number } {
  const lags: number[] = [];
  let due = performance.now() + stepMs;
  const note = (): void => {
    for (let lag = performance.now() - due; lag > 0; lag -= stepMs) lags.push(lag);
  };
  const timer = setInterval(() => {
    lags.push(0);
    note();
    due = performance.now() + stepMs;
  }, stepMs);
  return () => {
    clearInterval(timer);
    note();
    const sorted = lags.toSorted((left, right) => left - right);
    const last = sorted.length - 1;
    return {
      p99: sorted[Math.min(last, Math.floor(sorted.length * 0.99))] ?? 0,
      max: sorted[last] ?? 0,
    };
  };
}
