import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import {
  daemonNamed,
  machine,
  type OpenedShell,
  untilGone,
  whySkipped,
} from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

/** Five seconds are promised; a machine that is busy with other things may take three times as long. */
const ceilingMs = 15_000;

let root: string;
let shell: OpenedShell;

beforeEach(() => {
  root = testFolder();
  shell = testShell({ root });
});

describe.skipIf(!machine.isUsable)(`what a command starts${whySkipped}`, () => {
  it("ends within five seconds of the delegation", async () => {
    await shell.call({ command: `${daemonNamed(root)}; sleep 1000`, background: true });
    await until("it runs", () => existsSync(join(root, "beat")));
    const began = performance.now();
    await shell.release("d");
    await untilGone(root);
    expect(performance.now() - began).toBeLessThan(ceilingMs);
  });

  it("is killed when it does not listen, soon after its time", async () => {
    const began = performance.now();
    const { text } = await shell.call({
      command: "trap '' TERM; while :; do sleep 0.05; done",
      timeout_ms: 800,
    });
    expect(text).toContain("was ended.");
    await untilGone(root);
    expect(performance.now() - began).toBeLessThan(ceilingMs);
  });
});
