/**
 * What takes seconds to start and what every test file may use at the same time is started once,
 * when the first one asks, and ends with the test run.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Variable = "MANDATE_TEST_SHARED_PAGE" | "MANDATE_TEST_SHARED_POSTGRES";

interface Shared {
  /** How those who ask for it find it. */
  readonly found: string;
  end?(): Promise<void>;
}

/** For vitest's `globalSetup`: `variable` says to every test file where to ask; gives what ends it. */
export async function shareAs(
  variable: Variable,
  start: () => Promise<Shared>,
): Promise<() => Promise<void>> {
  let started: Promise<Shared> | undefined;
  const server = createServer((_request, response) => {
    started ??= start();
    started.then(
      ({ found }) => response.end(found),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env[variable] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.close();
    server.closeAllConnections();
    const shared = await started?.catch(() => undefined);
    await shared?.end?.();
  };
}

/** What is shared in this test run; undefined where there is none, as in a benchmark. */
export async function askForShared(variable: Variable): Promise<string | undefined> {
  const address = process.env[variable];
  if (address === undefined) return undefined;
  const response = await fetch(address);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
