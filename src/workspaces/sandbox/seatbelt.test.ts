import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { namedProgram } from "../processes/find-program.ts";
import type { SandboxPolicy } from "./sandbox.ts";
import { createSeatbelt, seatbeltProfile } from "./seatbelt.ts";

const isMac = process.platform === "darwin";
let base: string;
let policy: SandboxPolicy;

beforeEach(() => {
  base = testFolder();
  const [root, scratch] = [join(base, "work"), join(base, "scratch")];
  for (const place of ["work/src", "work/kept", "scratch/tmp", "scratch/home", "secret"]) {
    mkdirSync(join(base, place), { recursive: true });
  }
  writeFileSync(join(base, "secret/key"), "CANARY");
  writeFileSync(join(root, "kept/settings"), "mine");
  policy = {
    ...{ root, scratch, allowWrites: true, writeRoots: [root], visible: [], ownsGit: true },
    ...{ forbidden: [join(root, "hidden")], guarded: [join(root, "kept")] },
  };
});

it("denies what it does not name, and closes guarded and forbidden places last", () => {
  const lines = seatbeltProfile(policy, []).split("\n");
  expect(lines[1]).toBe("(deny default)");
  expect(lines.at(-1)).toBe("(deny network*)");
  const at = (text: string) => lines.findIndex((line) => line.startsWith(text));
  expect(at("(deny file-write*")).toBeGreaterThan(at("(allow file-write*"));
  expect(at("(deny file-read*")).toBeGreaterThan(at("(deny file-write*"));
});

it("writes nowhere but in its own folder where the contract is read-only", () => {
  const written = (allowWrites: boolean) =>
    /^\(allow file-write\* .*$/m.exec(seatbeltProfile({ ...policy, allowWrites }, []))?.[0];
  expect(written(false)).toBe(`(allow file-write* (subpath "${policy.scratch}"))`);
  expect(written(true)).toContain(`(subpath "${policy.root}")`);
});

it("keeps a quote in a path inside its text", () => {
  const root = join(base, 'a") (allow default) (subpath "');
  const profile = seatbeltProfile({ ...policy, root, writeRoots: [root] }, []);
  expect(profile).toContain('a\\") (allow default) (subpath \\"');
  expect(profile).not.toMatch(/[^\\]"\) \(allow default\)/);
});

it.skipIf(!isMac)("holds a command to its folder, without network, on macOS", () => {
  const sandbox = createSeatbelt(namedProgram("/usr/bin/sandbox-exec"), []);
  const command = `cat ${base}/secret/key; echo x > ${base}/planted; echo x > kept/settings;
    echo made > src/made; /usr/bin/nc -z -w 1 127.0.0.1 22 && echo REACHED; echo ran`;
  const { args } = sandbox.wrap(policy, ["/bin/sh", "-c", command], policy.root);
  const said = execFileSync("/usr/bin/sandbox-exec", [...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin", HOME: join(policy.scratch, "home") },
  });
  expect(said).toBe("ran\n");
  expect(readFileSync(join(policy.root, "src/made"), "utf8")).toBe("made\n");
  expect(readFileSync(join(policy.root, "kept/settings"), "utf8")).toBe("mine");
  expect(existsSync(join(base, "planted"))).toBe(false);
});
