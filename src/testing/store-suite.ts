import type { Store } from "../ports/store.ts";
import { appendingTests } from "./store-suite-appending.ts";
import { controlLogTests } from "./store-suite-control-log.ts";
import { idempotencyTests } from "./store-suite-idempotency.ts";
import { inboxTests } from "./store-suite-inbox.ts";
import { memoryTests } from "./store-suite-memories.ts";
import { readingTests } from "./store-suite-reading.ts";
import { recordSharingTests } from "./store-suite-record-sharing.ts";
import { recordValueTests } from "./store-suite-record-values.ts";
import { recordTests } from "./store-suite-records.ts";
import { retentionTests } from "./store-suite-retention.ts";
import { sharingTests } from "./store-suite-sharing.ts";
import { assertSound } from "./stored-run.ts";

/** What the suite needs of a store's surroundings. Every call of `open` is a place of its own. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Opens the same place once more, as another process would, whether or not others have it open. */
  reopen(): Promise<Store>;
  /** Changes the stored contract of a delegation behind the store's back. */
  tamper?(delegationId: string): Promise<void>;
  /** Closes everything that was opened, and removes the place. */
  close(): Promise<void>;
}

/** What `vitest`, `node:test` and others have in common. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void>): unknown;
}

export interface StoreTest {
  readonly title: string;
  /** It damages what is stored on purpose; otherwise the place must pass the checker afterwards. */
  readonly damages?: true;
  run(place: StoreUnderTest): Promise<void>;
}

/**
 * The contract of the `Store` port as tests. Every store passes it:
 *
 *     import { describe, it } from "vitest";
 *     storeSuite("my store", openMyStore, { describe, it });
 */
export function storeSuite(
  name: string,
  open: () => Promise<StoreUnderTest>,
  { describe, it }: TestRunner,
): void {
  const groups: readonly (readonly [string, readonly StoreTest[]])[] = [
    ["appending", appendingTests],
    ["reading", readingTests],
    ["sharing", sharingTests],
    ["the inbox", inboxTests],
    ["records", recordTests],
    ["values of records", recordValueTests],
    ["the control log", controlLogTests],
    ["sharing records", recordSharingTests],
    ["memories", memoryTests],
    ["keys of requests", idempotencyTests],
    ["retention", retentionTests],
  ];
  describe(`store: ${name}`, () => {
    for (const [title, tests] of groups) {
      describe(title, () => {
        for (const test of tests) {
          it(test.title, async () => {
            const place = await open();
            try {
              await test.run(place);
              if (!test.damages) await assertSound(await place.reopen());
            } finally {
              await place.close();
            }
          });
        }
      });
    }
  });
}
