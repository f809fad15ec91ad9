import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { repository, TestFolder, user } from "./skill-folders.test-support.ts";
import { loadSkills } from "./skill-registry.ts";

describe("a repository's skills", () => {
  it("carry the hash of all their files, and any change to one of them changes it", () => {
    using folder = new TestFolder();
    folder.skill("one");
    folder.write("one/scripts/run.sh", "echo 1");
    const seen = new Set<string | undefined>();
    const look = () => {
      const [skill] = loadSkills({ directories: [repository(folder)] }).waiting();
      expect(skill?.untrustedHash).toMatch(/^[0-9a-f]{64}$/);
      seen.add(skill?.untrustedHash);
    };
    look();
    look();
    expect(seen.size).toBe(1);
    folder.write("one/scripts/run.sh", "echo 2");
    look();
    renameSync(folder.path("one/scripts/run.sh"), folder.path("one/scripts/go.sh"));
    look();
    symlinkSync("scripts/go.sh", folder.path("one/link"));
    look();
    folder.skill("one", "description: Changed.");
    look();
    expect(seen.size).toBe(5);
  });

  it("count once they are trusted, and no longer when they have changed", async () => {
    using folder = new TestFolder();
    const clock = new ManualClock();
    let trusted: ReadonlySet<string> = new Set();
    folder.skill("one", "description: x", "first");
    folder.write("one/more.md", "more");
    const registry = loadSkills({
      directories: [repository(folder)],
      trusted: () => trusted,
      clock,
    });
    expect(registry.all()).toEqual([]);
    await expect(registry.read("one")).rejects.toThrow(/There is no skill "one"/);
    const { untrustedHash = "" } = registry.waiting()[0] ?? {};
    trusted = new Set([untrustedHash]);
    expect(registry.get("one")?.description).toBe("x");
    folder.write("one/more.md", "evil");
    // Within the second in which nobody looks again, the file is compared when it is read.
    await expect(registry.read("one", "more.md")).rejects.toThrow(/has changed since/);
    await clock.advance(1000);
    expect(registry.get("one")).toBeUndefined();
    expect(registry.waiting()[0]?.untrustedHash).toMatch(/^[0-9a-f]{64}$/);
    expect(registry.waiting()[0]?.untrustedHash).not.toBe(untrustedHash);
    await expect(registry.read("one", "more.md")).rejects.toThrow(/There is no skill "one"/);
  });

  it("do not hide a trusted one of their name while they are not trusted, or broken", () => {
    using folder = new TestFolder();
    folder.skill("second/review", "description: Trusted.");
    const directories = [repository(folder, "first"), repository(folder, "second")];
    const before = loadSkills({ directories }).waiting();
    const trusted = new Set(before.map(({ untrustedHash = "" }) => untrustedHash));
    const look = () => loadSkills({ directories, trusted: () => trusted });
    folder.skill("first/review", "description: Planted.");
    expect(look().get("review")?.description).toBe("Trusted.");
    folder.skill("first/review", "nothing: here");
    expect(look().get("review")?.description).toBe("Trusted.");
    // A skill with equal files and another name is another skill.
    folder.skill("first/other", "description: Trusted.");
    expect(look().get("other")).toBeUndefined();
  });

  it("of too many files or bytes are a problem", () => {
    using folder = new TestFolder();
    for (let index = 0; index < 501; index += 1) folder.write(`many/${index}.md`, "x");
    folder.skill("many");
    folder.skill("large");
    folder.write("large/data.bin", Buffer.alloc(8 * 1024 * 1024));
    folder.skill("deep");
    folder.write(`deep/${"d/".repeat(20)}x.md`, "x");
    const registry = loadSkills({ directories: [repository(folder)] });
    expect([...registry.all(), ...registry.waiting()]).toEqual([]);
    expect(registry.problems.map(({ name }) => name)).toEqual(["deep", "large", "many"]);
    expect(loadSkills({ directories: [user(folder)] }).all()).toHaveLength(3);
  });

  it("reach nothing outside through links", () => {
    using folder = new TestFolder();
    folder.skill("secret/outside");
    folder.skill("repo/skills/inside");
    folder.skill("repo/shared/common");
    symlinkSync(folder.path("secret/outside"), folder.path("repo/skills/out"));
    symlinkSync("../shared/common", folder.path("repo/skills/common"));
    mkdirSync(folder.path("repo/skills/file"));
    symlinkSync(folder.path("secret/outside/SKILL.md"), folder.path("repo/skills/file/SKILL.md"));
    symlinkSync(folder.path("secret"), folder.path("repo/linked"));

    const directory = repository(folder, "repo/skills");
    const strict = loadSkills({ directories: [directory] });
    expect(strict.waiting().map(({ name }) => name)).toEqual(["inside"]);
    expect(strict.problems.map(({ name }) => name).sort()).toEqual(["common", "file", "out"]);

    const within = loadSkills({ directories: [{ ...directory, boundary: folder.path("repo") }] });
    expect(within.waiting().map(({ name }) => name)).toEqual(["common", "inside"]);

    const linked = loadSkills({ directories: [repository(folder, "repo/linked")] });
    expect(linked.waiting()).toEqual([]);
    expect(linked.problems[0]?.message).toMatch(/points outside its repository/);
    // The user's own links are the user's business.
    const own = loadSkills({ directories: [user(folder, "repo/linked")] });
    expect(own.all().map(({ name }) => name)).toEqual(["outside"]);
  });

  it("that link in a circle end", () => {
    using folder = new TestFolder();
    folder.skill("group/one");
    symlinkSync("..", folder.path("group/up"));
    symlinkSync("self", folder.path("group/self"));
    const registry = loadSkills({ directories: [repository(folder)] });
    expect(registry.waiting().map(({ name }) => name)).toEqual(["one"]);
  });
});
