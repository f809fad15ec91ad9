import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { PersonShell } from "./person-shell.ts";

test("A command that ignores the signal is killed, with what outlives its shell", async () => {
  const folder = testFolder();
  const clock = new ManualClock();
  const shell = new PersonShell(folder, clock);
  const ended = shell.run("trap '' TERM; (touch up; exec sleep 1000) & exit 0");
  await until("it is up", () => existsSync(join(folder, "up")));
  shell.stop();
  await clock.advance(2000);
  expect(await ended).toMatchObject({ code: 0 });
  expect(shell.isRunning).toBe(false);
});
