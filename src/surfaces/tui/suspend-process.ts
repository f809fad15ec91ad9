/** How long one waits to be stopped. A stopped process does not count. */
const graceMs = 300;

/**
 * Stops this process and those that are one job with it, as Ctrl-Z does, and resolves when it goes
 * on. A process that is nobody's job (the first of a container) is not stopped, and goes on at once.
 */
export async function suspendProcess(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const heard = process.listeners("SIGTSTP");
  for (const listener of heard) process.off("SIGTSTP", listener);
  process.once("SIGCONT", resolve);
  const timer = setTimeout(resolve, graceMs);
  process.kill(0, "SIGTSTP");
  await promise;
  clearTimeout(timer);
  process.off("SIGCONT", resolve);
  for (const listener of heard) process.on("SIGTSTP", listener);
}
