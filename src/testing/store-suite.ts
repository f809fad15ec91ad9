import { appendingTests, idempotencyTests } from "./store-suite-appending.ts";
import { inboxTests } from "./store-suite-inbox.ts";
import { memoryTests } from "./store-suite-memories.ts";
import { readingTests } from "./store-suite-reading.ts";
import { controlLogTests, recordTests, recordValueTests } from "./store-suite-records.ts";
import { retentionTests } from "./store-suite-retention.ts";
import { recordSharingTests, sharingTests } from "./store-suite-sharing.ts";
import { assertSound, type StoreTest, type StoreUnderTest } from "./stored-run.ts";

/** What `vitest`, `node:test` and others have in common. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void>): unknown;
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
