import { onTestFinished } from "vitest";
import { type OpenedShell, openShell, type Setting } from "./shell-fixture.test-support.ts";

/** A shell that is closed after the test, and after its `afterEach`. */
export function testShell(setting: Setting): OpenedShell {
  const shell = openShell(setting);
  onTestFinished(() => shell.close());
  return shell;
}
