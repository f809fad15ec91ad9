/**
 * Keeps standard output for the protocol: whatever else is written there, by us or by a package,
 * goes to standard error instead, where a client shows or ignores it. Gives the one way through.
 */
export function guardStdout(onBroken: () => void): (text: string) => void {
  const { stderr, stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  // A client that has gone is no reason to leave without closing what it began.
  for (const stream of [stdout, stderr]) stream.removeAllListeners("error");
  stdout.on("error", onBroken);
  stderr.on("error", () => undefined);
  return (text) => void write(text);
}
