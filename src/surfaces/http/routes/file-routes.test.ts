import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openApi, refusal, type TestApi } from "./api.test-support.ts";

const options = { model: () => ({ text: "done" }) };

function write(api: TestApi, ...paths: readonly string[]): void {
  for (const path of paths) {
    const file = join(api.engine.workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
}

async function found(api: TestApi, q?: string, workspace?: string): Promise<readonly string[]> {
  const { items } = await api.client.findFiles({ q, workspace });
  return items.map(({ path }) => path);
}

describe("finding files over HTTP", () => {
  it("gives those that fit, the best first, and none that searches leave out", async () => {
    await using api = await openApi(options);
    write(api, "src/tides.ts", "docs/tides/guide.md", "src/berths.ts", ".github/tides.yml");
    write(api, ".git/tides", "node_modules/tides/index.js", "dist/tides.js", "src/ti\u202edes.ts");
    writeFileSync(join(api.engine.workspace, ".gitignore"), "dist/\n");
    expect(await found(api, "tides")).toEqual([
      "src/tides.ts",
      ".github/tides.yml",
      "docs/tides/guide.md",
    ]);
    expect(await found(api, "sbe")).toEqual(["src/berths.ts"]);
    expect(await found(api, "nothing like it")).toEqual([]);
    expect(await found(api)).toContain("src/berths.ts");
    expect(await found(api, "guide", "docs")).toEqual(["tides/guide.md"]);
  });

  it("gives 50 at most", async () => {
    await using api = await openApi(options);
    write(api, ...Array.from({ length: 120 }, (_, index) => `logs/day-${index}.txt`));
    const { isPartial, items } = await api.client.findFiles({ q: "day" });
    expect([items.length, isPartial]).toEqual([50, false]);
  });

  it("never leaves what the server serves, nor looks into the runtime's own", async () => {
    await using api = await openApi(options, (workspace) => [dirname(workspace)]);
    // The home of the database lies below what is served here.
    write(api, "own.txt");
    const all = await found(api);
    expect(all).toContain("workspace/own.txt");
    expect(all.filter((path) => path.startsWith("home/"))).toEqual([]);
    const secret = join(api.engine.home, "tokens");
    for (const workspace of ["/", "..", "../..", secret, `${secret}\0`, "~"]) {
      expect(await refusal(api.client.findFiles({ workspace })), workspace).toMatch(
        /^(?:403 refused-by-policy|400 usage)$/,
      );
    }
    symlinkSync("/etc", join(api.engine.workspace, "way-out"));
    expect((await found(api, "passwd")).length).toBe(0);
    expect(await refusal(api.client.findFiles({ workspace: "workspace/way-out" }))).toBe(
      "403 refused-by-policy",
    );
  });

  it("is for operators, and takes no more than a line", async () => {
    await using api = await openApi(options);
    const viewer = await api.as("viewer");
    expect(await refusal(viewer.findFiles({ q: "x" }))).toBe("403 forbidden");
    expect(await refusal(api.client.findFiles({ q: "x".repeat(201) }))).toBe("400 request-invalid");
  });
});
