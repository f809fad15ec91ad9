import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { detectSandbox } from "./detect-sandbox.ts";
import { runLine } from "./run-line.test-support.ts";
import type { SandboxPolicy } from "./sandbox.ts";

const machine = detectSandbox(process.env);
const why = machine.isUsable ? "" : ` (skipped: ${machine.problem})`;

/** A command that is prepared, then finds another folder in the place of `part`, then is run. */
function runAfterSwap(part: "." | "src", swaps: boolean) {
  const base = testFolder();
  const [root, secret] = [join(base, "app"), join(base, "secret")];
  for (const folder of ["app/src", "secret", "scratch/tmp", "scratch/home"]) {
    mkdirSync(join(base, folder), { recursive: true });
  }
  writeFileSync(join(secret, "key"), "CANARY");
  const policy: SandboxPolicy = {
    ...{ root, allowWrites: true, writeRoots: [part === "." ? root : join(root, part)] },
    ...{ forbidden: [], guarded: [], visible: [], ownsGit: false, isThrowaway: true },
    ...{ scratch: join(base, "scratch") },
  };
  if (!machine.isUsable) throw new Error(machine.problem);
  const command = `cd ${join(root, part)} && cat key; echo x > written; echo ran`;
  const line = machine.sandbox.wrap(policy, ["/bin/sh", "-c", command], "/");
  if (swaps) {
    renameSync(join(root, part), join(base, "aside"));
    symlinkSync(secret, join(root, part).replace(/\/$/, ""));
  }
  const { stdout, status } = runLine(line);
  return { stdout, status, inSecret: readdirSync(secret) };
}

test.skipIf(!machine.isUsable)(
  `a folder that was replaced before it was mounted is not worked in${why}`,
  () => {
    for (const part of [".", "src"] as const) {
      expect(runAfterSwap(part, false).stdout).toContain("ran");
      const { stdout, status, inSecret } = runAfterSwap(part, true);
      expect(stdout).toBe("");
      expect(status).not.toBe(0);
      expect(inSecret).toEqual(["key"]);
    }
  },
);

test.skipIf(!machine.isUsable)(
  `a folder around a guarded place that was replaced before it was mounted is not mounted${why}`,
  () => {
    const base = testFolder();
    const root = join(base, "app");
    // Names that are compared one by one and names that are compared together.
    const folders = ["a", "b c", "é", "x\ny"];
    const guarded = folders.map((name) => `app/${name}/.git`);
    for (const folder of [...guarded, ".git", "secret", "scratch/tmp", "scratch/home"]) {
      mkdirSync(join(base, folder), { recursive: true });
    }
    writeFileSync(join(base, "secret/key"), "CANARY");
    const policy: SandboxPolicy = {
      ...{ root, allowWrites: true, writeRoots: [root], forbidden: [], visible: [] },
      ...{ ownsGit: false, scratch: join(base, "scratch") },
      guarded: guarded.map((place) => join(base, place)),
    };
    if (!machine.isUsable) throw new Error(machine.problem);
    const { sandbox } = machine;
    const run = (swapped?: string) => {
      const command = "cat ../secret/key; echo x > ../secret/written; echo ran";
      const line = sandbox.wrap({ ...policy, isThrowaway: true }, ["/bin/sh", "-c", command], root);
      if (swapped !== undefined) {
        renameSync(join(root, swapped), join(base, "aside"));
        // The folder above exists on both sides, so that it can be mounted onto itself.
        symlinkSync("..", join(root, swapped));
      }
      const { stdout } = runLine(line);
      if (swapped !== undefined) {
        rmSync(join(root, swapped));
        renameSync(join(base, "aside"), join(root, swapped));
      }
      return stdout;
    };
    expect(run()).toBe("ran\n");
    for (const folder of folders) expect(run(folder)).toBe("");
    expect(readdirSync(join(base, "secret"))).toEqual(["key"]);
  },
);
