import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { detectSandbox } from "./detect-sandbox.ts";

let folder: string;

beforeEach(() => {
  folder = testFolder();
});

function program(script: string): string {
  const file = join(folder, "bwrap");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const problemOf = (options: Parameters<typeof detectSandbox>[1]) => {
  const finding = detectSandbox(process.env, options);
  return finding.isUsable ? "" : finding.problem;
};

test("where there is no sandbox, it says why and what to do", () => {
  expect(problemOf({ platform: "darwin" })).toContain("Linux only");
  expect(problemOf({ platform: "win32" })).toContain("Linux only");
  const missing = { platform: "linux", program: join(folder, "none") } as const;
  expect(problemOf(missing)).toContain("apt install bubblewrap");
});

test("one that is installed and may not make namespaces is not taken for a sandbox", () => {
  const forbidden = program("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1");
  const problem = problemOf({ platform: "linux", program: forbidden });
  expect(problem).toContain("setting up uid map: Permission denied");
  expect(problem).toContain("kernel.apparmor_restrict_unprivileged_userns=0");
});

test("an older one is used without what it does not know", () => {
  const old = program(
    'case "$*" in --version) echo bubblewrap 0.4.1;; *--disable-userns*) exit 1;; esac',
  );
  const finding = detectSandbox(process.env, { platform: "linux", program: old });
  expect(finding).toMatchObject({ isUsable: true, sandbox: { name: "bubblewrap 0.4.1" } });
});

test("the answer is found once", () => {
  const first = detectSandbox(process.env);
  expect(detectSandbox({ ...process.env })).toBe(first);
  expect(detectSandbox({ ...process.env, PATH: "/usr/bin:/bin" })).not.toBe(first);
});
