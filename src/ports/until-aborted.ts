/**
 * The work's outcome, or the signal's reason as soon as it aborts, whether or not the work itself
 * listens: a provider that ignores a cancelled request must not hold its caller.
 */
export function untilAborted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  if (signal.aborted) {
    work.catch(ignore);
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function ignore(): void {}
