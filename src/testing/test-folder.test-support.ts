import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The real path of a new, empty folder that is gone after the test, and after its `afterEach`. */
export function testFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-test-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
