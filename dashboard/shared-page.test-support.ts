/** For vitest's `globalSetup`: the page is built once for every test file that opens it. */
import { rmSync } from "node:fs";
import { shareAs } from "../src/testing/shared-by-files.test-support.ts";

export function setup(): Promise<() => Promise<void>> {
  return shareAs("MANDATE_TEST_SHARED_PAGE", async () => {
    const { preparePage } = await import("./prepare-page.test-support.ts");
    const folder = await preparePage();
    return {
      found: folder,
      end: async () => rmSync(folder, { recursive: true, force: true }),
    };
  });
}
