/**
 * Keeps this process there until that is settled. Who waits for what others work on hears of its end
 * by connections and timers that let a process go which has nothing to do.
 */
export function keepAlive<Value>(awaited: Promise<Value>): Promise<Value> {
  const handle = setInterval(() => undefined, hourMs);
  const release = (): void => clearInterval(handle);
  awaited.then(release, release);
  return awaited;
}

const hourMs = 3_600_000;
