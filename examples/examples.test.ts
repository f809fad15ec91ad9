import { readdirSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";

const examples = readdirSync(new URL(".", import.meta.url)).filter((file) =>
  /^\d\d-.*\.ts$/.test(file),
);

afterEach(() => {
  process.exitCode = undefined;
  vi.restoreAllMocks();
});

describe("every example", () => {
  it.each(examples)("%s runs and finds itself right", async (file) => {
    vi.spyOn(console, "log").mockImplementation(() => undefined);
    await import(new URL(file, import.meta.url).href);
    expect(process.exitCode).toBeUndefined();
  });
});
