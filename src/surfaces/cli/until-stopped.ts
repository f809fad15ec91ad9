import { exitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";

/** Resolves with the first signal, which ends a command in order; the second ends it at once. */
export function untilStopped(io: Io): Promise<void> {
  const { promise, resolve: stop } = Promise.withResolvers<void>();
  let isStopping = false;
  io.onSignal(() => {
    if (isStopping) io.leave(exitCode.interrupted);
    isStopping = true;
    stop();
  });
  return promise;
}
