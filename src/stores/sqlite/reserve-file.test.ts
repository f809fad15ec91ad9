import fs, { existsSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { ReserveFile } from "./reserve-file.ts";

let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
});

function makePath(): string {
  return join(testFolder(), "mandate.db-reserve");
}

test("a reserve is there before the first write, and one that was cut off is made whole", () => {
  const path = makePath();
  writeFileSync(path, "half");
  new ReserveFile(path, clock).ensure();
  expect(statSync(path).size).toBe(1024 * 1024);
});

test("a reserve that was given up does not take back the room at once, and is there for the next time", async () => {
  const path = makePath();
  const reserve = new ReserveFile(path, clock);
  for (let shortage = 0; shortage < 3; shortage++) {
    reserve.ensure();
    expect(existsSync(path)).toBe(true);
    reserve.release();
    reserve.ensure();
    await clock.advance(9000);
    reserve.ensure();
    expect(existsSync(path)).toBe(false);
    // Whatever still fails begins the wait anew.
    reserve.release();
    await clock.advance(9000);
    reserve.ensure();
    expect(existsSync(path)).toBe(false);
    await clock.advance(1001);
  }
  reserve.ensure();
  expect(existsSync(path)).toBe(true);
});

test("a reserve that cannot be created prevents no write", async () => {
  const reserve = new ReserveFile("/nonexistent/folder/mandate.db-reserve", clock);
  reserve.ensure();
  reserve.release();
  await clock.advance(20_000);
  reserve.ensure();
  new ReserveFile(null, clock).ensure();
  new ReserveFile(null, clock).release();
});

test("a reserve is whole where a disk takes only a part of it at a time", () => {
  const path = makePath();
  const { writeSync } = fs;
  const writePart = (file: number, bytes: Buffer, offset = 0, length = bytes.length): number =>
    writeSync(file, bytes, offset, Math.min(length, 300_000));
  const spy = vi.spyOn(fs, "writeSync").mockImplementation(writePart as typeof writeSync);
  syncBuiltinESMExports();
  try {
    new ReserveFile(path, clock).ensure();
  } finally {
    spy.mockRestore();
    syncBuiltinESMExports();
  }
  expect(statSync(path).size).toBe(1024 * 1024);
});
