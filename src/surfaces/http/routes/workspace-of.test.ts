import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { workspaceOf } from "./place-of-request.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-served-")));
const served = join(root, "app");
const second = join(root, "second");
for (const folder of ["app/src", "app/..odd", "app-evil", "second", "elsewhere"]) {
  mkdirSync(join(root, folder), { recursive: true });
}
writeFileSync(join(served, "file"), "");
symlinkSync(join(root, "elsewhere"), join(served, "out"));
symlinkSync(join(served, "src"), join(root, "elsewhere", "in"));
symlinkSync(join(served, "loop"), join(served, "loop"));
const host = { workspaces: [served, second] };

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("workspaceOf", () => {
  it("gives the first folder where none is named, and those inside by their real path", async () => {
    expect(await workspaceOf(host)).toBe(served);
    expect(await workspaceOf(host, served)).toBe(served);
    expect(await workspaceOf(host, join(served, "src"))).toBe(join(served, "src"));
    expect(await workspaceOf(host, "src")).toBe(join(served, "src"));
    expect(await workspaceOf(host, `${served}/src/../src//.`)).toBe(join(served, "src"));
    expect(await workspaceOf(host, second)).toBe(second);
    expect(await workspaceOf(host, "..odd")).toBe(join(served, "..odd"));
    // What counts is where it leads, not where it is written.
    expect(await workspaceOf(host, join(root, "elsewhere", "in"))).toBe(join(served, "src"));
  });

  it("refuses every other one in the same words, whether it is there or not", async () => {
    const refusals = new Set<string>();
    for (const path of [
      root,
      join(root, "app-evil"),
      join(root, "elsewhere"),
      join(served, "out"),
      join(served, "..", "elsewhere"),
      "../elsewhere",
      join(served, "missing"),
      join(served, "file"),
      join(served, "loop"),
      "/",
      "/etc",
      "/nowhere",
      "src\0",
      "~",
      "x".repeat(10_000),
    ]) {
      const refused = await workspaceOf(host, path).then(
        () => path,
        (error) => `${error.code} ${error.message.replace(/".*?"(?= on this)/, "X")}`,
      );
      refusals.add(refused);
    }
    expect([...refusals]).toEqual([
      expect.stringMatching(/^refused-by-policy There is no folder X on this server/),
    ]);
    await expect(workspaceOf({ workspaces: [] }, "/")).rejects.toThrow(/serves no folder/);
  });
});
