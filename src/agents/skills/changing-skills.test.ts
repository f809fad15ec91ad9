import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { TestFolder, user } from "./skill-folders.test-support.ts";
import { loadSkills } from "./skill-registry.ts";

describe("while it runs", () => {
  it("sees what was added, changed and removed, looking at most once a second", async () => {
    using folder = new TestFolder();
    const clock = new ManualClock();
    const registry = loadSkills({ directories: [user(folder)], clock });
    const names = () => registry.all().map(({ name, description }) => `${name}: ${description}`);
    folder.skill("one", "description: First.");
    expect(names()).toEqual(["one: First."]);
    folder.skill("one", "description: Changed.", "new body");
    folder.skill("two", "description: Second.");
    await clock.advance(999);
    expect(names()).toEqual(["one: First."]);
    await clock.advance(1);
    expect(names()).toEqual(["one: Changed.", "two: Second."]);
    expect(await registry.read("one")).toBe("new body");
    rmSync(folder.path("one"), { recursive: true });
    await clock.advance(1000);
    expect(names()).toEqual(["two: Second."]);
  });

  it.each([false, true])(
    "keeps the last good version when an edit breaks it (of a repository: %s)",
    async (isRepository) => {
      using folder = new TestFolder();
      const clock = new ManualClock();
      const all = Object.assign(new Set<string>(), { has: () => true });
      const registry = loadSkills({
        directories: [{ ...user(folder), isRepository }],
        clock,
        // Everything is trusted: the test is about the effect of an edit.
        trusted: () => all,
      });
      folder.skill("one", "description: Good.", "good body");
      folder.skill("unread", "description: Good.", "never read");
      const before = registry.get("one");
      expect(await registry.read("one")).toBe("good body");
      folder.write("one/SKILL.md", "---\ndescription: [broken\n");
      folder.write("unread/SKILL.md", "---\ndescription: [broken\n");
      expect(await registry.read("one")).toBe("good body");
      await clock.advance(1000);
      expect(registry.get("one")).toEqual(before);
      expect(await registry.read("one")).toBe("good body");
      await expect(registry.read("unread")).rejects.toThrow(/not closed|changed/);
      expect(registry.problems[0]).toMatchObject({
        name: "one",
        message: expect.stringContaining("the version before it is still used"),
      });
      folder.skill("one", "description: Mended.", "mended body");
      await clock.advance(1000);
      expect(registry.get("one")?.description).toBe("Mended.");
      expect(await registry.read("one")).toBe("mended body");
      expect(registry.problems.map(({ name }) => name)).toEqual(["unread"]);
    },
  );
});
