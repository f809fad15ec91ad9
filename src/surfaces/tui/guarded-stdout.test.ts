import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { guardedStdout } from "./chat-screen.ts";

function written(locale: string, ...texts: readonly string[]): string {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  // Only what is written differs: a stream in memory stands for a terminal.
  const stdout = guardedStdout(stream as unknown as NodeJS.WriteStream, { LANG: locale });
  expect(stdout).toMatchObject({ isTTY: true, columns: 80, rows: 24 });
  for (const text of texts) stdout.write(text);
  return String(stream.read() ?? "");
}

test("What is drawn cannot go on below its line, and the terminal is as it was after each write", () => {
  expect(written("C.UTF-8", "wide ❤️")).toBe("\u001b[?7lwide ❤️\u001b[?7h");
  expect(written("C.UTF-8", "\u001b[?25l\u001b[2K")).toBe("\u001b[?25l\u001b[2K");
});

test("Where bytes are letters, none is written that could be an order", () => {
  const bytes = Buffer.from(written("C", "Û31m and 漢"));
  expect(bytes.every((byte) => byte < 0x80)).toBe(true);
});

test("Who waits for a write is told", async () => {
  const stream = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = guardedStdout(stream as unknown as NodeJS.WriteStream, {});
  await new Promise<void>((resolve) => stdout.write("text", () => resolve()));
});
