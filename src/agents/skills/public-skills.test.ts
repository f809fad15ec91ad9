import { existsSync, globSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSkills } from "./skill-registry.ts";

const corpus = resolve(import.meta.dirname, "../../../../shared/corpora/agents/skill");

describe.skipIf(!existsSync(corpus))("public skills (the corpus beside the repository)", () => {
  it("are each listed, or named by a problem", () => {
    const files = globSync("**/SKILL.md", { cwd: corpus }).map((file) => join(corpus, file));
    expect(files.length).toBeGreaterThan(50);
    const unlisted = files.filter((file) => {
      const registry = loadSkills({ directories: [{ path: dirname(file), origin: "test" }] });
      if (registry.all().length === 1) return false;
      expect(registry.problems).toHaveLength(1);
      expect(registry.problems[0]?.message).toContain(file);
      return true;
    });
    const names = unlisted.map((file) => file.split("/").at(-2)).sort();
    expect(names).toEqual(["missing-description", "no-frontmatter"]);
  });

  it("load from one place as well", () => {
    const registry = loadSkills({
      directories: [...new Set(globSync("**/SKILL.md", { cwd: corpus }))].map((file) => ({
        path: join(corpus, dirname(dirname(file))),
        origin: "test",
        isRepository: true,
      })),
    });
    expect(registry.all()).toEqual([]);
    expect(registry.waiting().length).toBeGreaterThan(50);
  });
});
