import { z } from "zod";
import { MandateError } from "../../ports/mandate-error.ts";
import type { RecordStore } from "../../ports/record-store.ts";
import type { Store } from "../../ports/store.ts";
import { quote } from "./shown-text.ts";

/**
 * What an operator has stopped from taking work: a queue (paused), a worker or all workers of a
 * version (drained). A record for each, of the type `stop`; without one it takes work.
 */
const stopType = "stop";

export type StopScope = `queue/${string}` | `worker/${string}` | `version/${string}`;

const stopScope = z
  .string()
  .regex(
    /^(?:queue|worker|version)\/[A-Za-z0-9][\w.+-]{0,63}$/,
    "queue/NAME, worker/ID or version/VERSION",
  )
  .transform((scope) => scope as StopScope);

export interface StoredStop {
  readonly scope: StopScope;
  readonly setBy: string;
  readonly setAt: number;
}

export async function readStops(
  store: Pick<RecordStore, "listRecords">,
): Promise<readonly StoredStop[]> {
  const records = await store.listRecords(stopType);
  return records.map(({ resourceId, updatedAt, updatedBy }) => ({
    scope: resourceId as StopScope,
    setBy: updatedBy,
    setAt: updatedAt,
  }));
}

/** False: it is as asked already. */
export async function writeStop(
  store: RecordStore,
  asked: string,
  isStopped: boolean,
  actor: string,
): Promise<boolean> {
  const scope = stopScope.safeParse(asked);
  if (!scope.success) {
    const message = `A stop is of queue/NAME, worker/ID or version/VERSION; it is ${quote(asked)}.`;
    throw new MandateError("usage", message);
  }
  const found = await store.readRecord(stopType, scope.data);
  if ((found !== undefined) === isStopped) return false;
  const change = { resourceType: stopType, resourceId: scope.data };
  const expectedVersion = found?.version ?? 0;
  const value = isStopped ? { stopped: true } : null;
  await store.changeRecords([{ ...change, expectedVersion, value }], actor);
  return true;
}

export interface WatchedStops {
  has(scope: string): boolean;
  close(): void;
}

/**
 * The stops of one store as they are now: read again when the log says that one was set or removed.
 * `onChange` gets those that came and those that went. A read that fails is made again with the
 * next event, and until then what is known counts.
 */
export async function watchStops(
  store: Pick<Store, "listRecords" | "subscribe">,
  onChange: (came: readonly StoredStop[], went: readonly StoredStop[]) => void,
  onFault: (error: unknown) => void,
): Promise<WatchedStops> {
  let known = new Map<string, StoredStop>();
  let reading = Promise.resolve();
  const read = async (): Promise<void> => {
    const found = new Map((await readStops(store)).map((stop) => [stop.scope as string, stop]));
    const came = [...found.values()].filter(({ scope }) => !known.has(scope));
    const went = [...known.values()].filter(({ scope }) => !found.has(scope));
    known = found;
    if (came.length > 0 || went.length > 0) onChange(came, went);
  };
  const unsubscribe = store.subscribe((events) => {
    const isAbout = events.some(
      ({ payload, type }) =>
        type === "control.record_changed" &&
        String((payload as { readonly record?: unknown }).record).startsWith(`${stopType}/`),
    );
    if (isAbout) reading = reading.then(read).catch(onFault);
  });
  await read();
  return { has: (scope) => known.has(scope), close: unsubscribe };
}
