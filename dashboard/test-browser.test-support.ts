import { afterAll, beforeAll } from "vitest";
import { openBrowser, type TestBrowser } from "./browser.test-support.ts";

/** The page and a browser for the tests of a file: there from the first of them to the last. */
export function testBrowser(): TestBrowser {
  const opened: Partial<TestBrowser> = {};
  beforeAll(async () => {
    Object.assign(opened, await openBrowser());
  }, 120_000);
  afterAll(() => opened[Symbol.asyncDispose]?.());
  return opened as TestBrowser;
}
