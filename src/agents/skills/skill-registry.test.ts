import { describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { TestFolder, user } from "./skill-folders.test-support.ts";
import { loadSkills } from "./skill-registry.ts";

describe("skills", () => {
  it("are folders with a SKILL.md, listed by name with their descriptions", async () => {
    using folder = new TestFolder();
    folder.skill("writing", 'name: writing_helpers\ndescription: "Plain words."', "Write plainly.");
    folder.skill("alpha", "description: The folder names it.");
    folder.write("README.md", "about the folder");
    folder.write("notes/other.md", "no skill");
    const registry = loadSkills({ directories: [user(folder)] });
    expect(registry.all()).toEqual([
      {
        name: "alpha",
        description: "The folder names it.",
        folder: folder.path("alpha"),
        origin: `user: ${folder.path("alpha/SKILL.md")}`,
      },
      expect.objectContaining({ name: "writing_helpers", description: "Plain words." }),
    ]);
    expect(await registry.read("writing_helpers")).toBe("Write plainly.");
    expect(registry.problems).toEqual([]);
  });

  it("answer to their name with and without the prefix", async () => {
    using folder = new TestFolder();
    folder.skill("w", "name: writing_helpers\ndescription: x");
    folder.skill("c", "name: Code Review!\ndescription: x");
    folder.skill("n", "name: 42\ndescription: x");
    const registry = loadSkills({ directories: [user(folder)] });
    expect(registry.get("skill:writing_helpers")).toBe(registry.get("writing_helpers"));
    expect(registry.get("writing_helpers")?.name).toBe("writing_helpers");
    expect(registry.get("code-review")?.name).toBe("code-review");
    expect(registry.get("Code Review!")?.name).toBe("code-review");
    expect(registry.get("42")?.name).toBe("42");
    expect(registry.get("constructor")).toBeUndefined();
    expect(registry.get("__proto__")).toBeUndefined();
    expect(registry.get("")).toBeUndefined();
  });

  it("may lie in folders that are only there for order, and not inside other skills", () => {
    using folder = new TestFolder();
    folder.skill("writing/letters");
    folder.skill("outer");
    folder.skill("outer/inner");
    folder.skill("a/b/c/too-deep");
    folder.skill(".hidden/one");
    folder.skill("node_modules/two");
    const registry = loadSkills({ directories: [user(folder)] });
    expect(registry.all().map(({ name }) => name)).toEqual(["letters", "outer"]);
  });

  it("are not looked for before somebody asks, and a missing place is no problem", () => {
    using folder = new TestFolder();
    const registry = loadSkills({ directories: [user(folder, "later")] });
    folder.skill("later/one");
    expect(registry.all().map(({ name }) => name)).toEqual(["one"]);
    expect(loadSkills({ directories: [user(folder, "never")] }).problems).toEqual([]);
  });

  it("that hide themselves from models say so, also when the value is misspelt", () => {
    using folder = new TestFolder();
    const values = { yes: "true", odd: "ture", text: '"true"', empty: "", no: "false" };
    for (const [name, value] of Object.entries(values)) {
      folder.skill(name, `description: x\ndisable-model-invocation: ${value}`);
    }
    const hidden = loadSkills({ directories: [user(folder)] })
      .all()
      .filter((skill) => skill.hidden);
    expect(hidden.map(({ name }) => name)).toEqual(["empty", "odd", "text", "yes"]);
  });

  it("show at most 1,024 characters of their description, cut between characters", () => {
    using folder = new TestFolder();
    folder.skill("long", `description: ${"😀".repeat(3000)}`);
    const text = loadSkills({ directories: [user(folder)] }).get("long")?.description ?? "";
    expect(text.length).toBeGreaterThan(1000);
    expect(text.length).toBeLessThanOrEqual(1025);
    expect(text.isWellFormed()).toBe(true);
  });

  it("of a name that an earlier place has are a problem, and the first one stays", async () => {
    using folder = new TestFolder();
    folder.skill("mine/review", "description: Mine.", "mine");
    folder.skill("theirs/review", "description: Theirs.", "theirs");
    const registry = loadSkills({
      directories: [user(folder, "mine"), user(folder, "theirs")],
    });
    expect(registry.get("review")?.description).toBe("Mine.");
    expect(await registry.read("review")).toBe("mine");
    expect(registry.problems).toEqual([
      {
        name: "review",
        file: folder.path("theirs/review/SKILL.md"),
        message: expect.stringContaining(folder.path("mine/review/SKILL.md")),
      },
    ]);
  });

  it("that are broken take their name with them", () => {
    using folder = new TestFolder();
    folder.skill("mine/a", "name: review\nlicense: MIT");
    folder.skill("theirs/review", "description: Another one.");
    const registry = loadSkills({ directories: [user(folder, "mine"), user(folder, "theirs")] });
    expect(registry.get("review")).toBeUndefined();
    expect(registry.problems.map(({ file }) => file)).toEqual([
      folder.path("mine/a/SKILL.md"),
      folder.path("theirs/review/SKILL.md"),
    ]);
  });

  it("of 1,000 folders are all listed, and looked at again", async () => {
    using folder = new TestFolder();
    for (let index = 0; index < 1000; index += 1) folder.skill(`skill-${index}`);
    const clock = new ManualClock();
    const registry = loadSkills({ directories: [user(folder)], clock });
    expect(registry.all()).toHaveLength(1000);
    await clock.advance(1000);
    expect(registry.all()).toHaveLength(1000);
  });
});
