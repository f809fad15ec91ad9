import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { TestFolder, user } from "./skill-folders.test-support.ts";
import { loadSkills } from "./skill-registry.ts";

describe("a file that cannot be used", () => {
  const broken: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ["without front matter", "# A skill", /:1: the front matter is missing/],
    ["without its end", "---\nname: x\ndescription: y\n", /:1: the front matter is not closed/],
    ["without a description", "---\nname: x\n---\nbody", /"description" is missing/],
    ["with an empty description", "---\nname: x\ndescription: ''\n---\n", /:3: "description"/],
    ["with a list as description", "---\ndescription: [a]\n---\n", /:2: "description" is missing/],
    ["with a list as front matter", "---\n- a\n---\n", /keys and values/],
    ["with a NUL", "---\ndescription: a\0b\n---\n", /NUL/],
    [
      "with a hiding key that got lost",
      "---\ndescription: x\n  disable-model-invocation: true\n---\n",
      /SKILL\.md:3: .*disable-model-invocation/,
    ],
    ["with front matter over 64 KB", `---\n${"# x\n".repeat(20_000)}---\n`, /not closed/],
  ];
  test.each(broken)(
    "%s is a problem that names it, and its neighbours load",
    (_, text, message) => {
      using folder = new TestFolder();
      const file = folder.write("bad/SKILL.md", text);
      folder.skill("good");
      const registry = loadSkills({ directories: [user(folder)] });
      expect(registry.all().map(({ name }) => name)).toEqual(["good"]);
      expect(registry.problems).toHaveLength(1);
      expect(registry.problems[0]).toMatchObject({ file, message: expect.stringMatching(message) });
      expect(registry.problems[0]?.message).toContain(file);
    },
  );

  test("what is only bad YAML is read all the same, as text and nothing else", () => {
    using folder = new TestFolder();
    folder.skill("colon", "name: colon\ndescription: Use it when: always, for 'a' and \"b\".");
    folder.skill("tag", "description: !!js/function 'function () { return 1 }'");
    folder.skill("prototype", "__proto__: {hidden: true}\ndescription: x");
    const registry = loadSkills({ directories: [user(folder)] });
    expect(registry.get("colon")?.description).toBe("Use it when: always, for 'a' and \"b\".");
    expect(registry.get("tag")?.description).toContain("function");
    expect(registry.get("prototype")).not.toHaveProperty("hidden");
    expect(({} as { hidden?: true }).hidden).toBeUndefined();
  });

  test("because it is a pipe, a device or a folder is refused without waiting for it", () => {
    using folder = new TestFolder();
    mkdirSync(folder.path("pipe"));
    execFileSync("mkfifo", [folder.path("pipe/SKILL.md")]);
    mkdirSync(folder.path("folder/SKILL.md"), { recursive: true });
    mkdirSync(folder.path("device"));
    symlinkSync("/dev/zero", folder.path("device/SKILL.md"));
    const registry = loadSkills({ directories: [user(folder)] });
    expect(registry.all()).toEqual([]);
    expect(registry.problems.map(({ name }) => name)).toEqual(["device", "folder", "pipe"]);
  });

  test("a huge body costs nothing to list, and is cut when it is read", async () => {
    using folder = new TestFolder();
    folder.skill("huge", "description: x", "a line\n".repeat(1_000_000));
    const registry = loadSkills({ directories: [user(folder)] });
    const text = await registry.read("huge");
    expect(text.length).toBeLessThan(257 * 1024);
    expect(text).toMatch(/\[… cut: 70000\d\d bytes in all\]$/);
  });
});

test("whatever bytes a SKILL.md has, it is listed or it is a problem", async () => {
  using folder = new TestFolder();
  const line = fc.constantFrom(
    ...[
      "---",
      "name: x",
      "description: y",
      "description: |",
      "  text",
      "disable-model-invocation:",
    ],
    ...[
      "- a",
      "{",
      "]",
      "&a *a",
      "<<: *a",
      "\u0000",
      "\ufeff",
      "\ud800",
      "'",
      '"',
      "\t",
      "%YAML 1.1",
    ],
  );
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.array(fc.oneof(line, fc.string()), { maxLength: 20 }).map((lines) => lines.join("\n")),
  );
  await fc.assert(
    fc.asyncProperty(content, async (bytes) => {
      const file = folder.write("any/SKILL.md", bytes);
      const registry = loadSkills({ directories: [user(folder)] });
      const [skill] = registry.all();
      expect(registry.problems.map((problem) => problem.file)).toEqual(skill ? [] : [file]);
      if (skill === undefined) return;
      expect(skill.name).toMatch(/^[\p{L}\p{M}\p{N}._-]+$/u);
      expect(typeof (await registry.read(skill.name))).toBe("string");
    }),
    { numRuns: cases(300) },
  );
});
