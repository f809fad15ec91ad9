import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseMarkdownProfile, writeMarkdownProfile } from "../profiles/profile-document.ts";
import { mergeLayers } from "../profiles/profile-layer.ts";
import type { AgentFile } from "./agent-file.ts";
import { findAgentFiles } from "./find-agent-files.ts";
import { readAgentFile } from "./read-agent-file.ts";

const corpus = join(import.meta.dirname, "../../../../shared/corpora/agents");
const isThere = existsSync(join(corpus, "expected.tsv"));
const title = isThere ? "public agent files" : `public agent files (skipped: no ${corpus})`;

const statuses: Readonly<Record<string, readonly AgentFile["status"][]>> = {
  loads: ["ok", "warning"],
  warning: ["warning"],
  diagnosed: ["error"],
  "warning-or-diagnosed": ["warning", "error"],
  skipped: ["skipped"],
  answered: ["ok", "warning", "error", "skipped"],
};

describe.skipIf(!isThere)(title, () => {
  const rows = isThere
    ? readFileSync(join(corpus, "expected.tsv"), "utf8").split("\n").slice(1).filter(Boolean)
    : [];
  const expected = new Map(rows.map((row) => row.split("\t") as [string, string]));
  const files = new Map(
    [...expected.keys()].map((path) => [path, readAgentFile(join(corpus, path), { root: corpus })]),
  );

  test("every file ends as it should, with or without knowing the root", () => {
    for (const [path, outcome] of expected) {
      for (const file of [files.get(path), readAgentFile(join(corpus, path))]) {
        const about = `${path}: ${JSON.stringify(file?.diagnostics)}`;
        expect(statuses[outcome], about).toContain(file?.status);
        const isLoaded = file?.status === "ok" || file?.status === "warning";
        const count = (file?.agents.length ?? 0) + Object.keys(file?.servers ?? {}).length;
        expect(count > 0, about).toBe(isLoaded);
      }
    }
  });

  test("what had to be repaired has its name and all of its description", () => {
    for (const [path, outcome] of expected) {
      if (outcome !== "warning") continue;
      const [agent] = files.get(path)?.agents ?? [];
      const text = readFileSync(join(corpus, path), "utf8");
      const claimed = /^ *name: *["']?([\w-]+)/m.exec(text)?.[1];
      if (claimed !== undefined) expect(agent?.name, path).toBe(claimed);
      // Every word of the lines from `description` up to the next key is in it.
      const raw = /^ *description: *(.*(?:\n(?!\s*[a-z][\w-]*:(?: |$)|---).*)*)/m.exec(text)?.[1];
      const wanted = words(raw ?? "");
      expect(words(agent?.fields.description ?? "").slice(0, wanted.length), path).toEqual(wanted);
    }
  });

  test("every agent can be used, and comes back from our own Markdown as it was", () => {
    for (const [path, { agents }] of files) {
      for (const { name, fields } of agents) {
        const text = writeMarkdownProfile(name, fields);
        const again = parseMarkdownProfile(text, path);
        expect(again, path).toEqual({ name, fields });
        // What loads can be used: a profile says what it is for and has a prompt.
        const profile = mergeLayers([{ name, fields, origin: path, replaces: true }]);
        const layer = { name, fields: again.fields, origin: path, replaces: true };
        expect(mergeLayers([layer]), path).toEqual(profile);
        expect(profile.description !== "" && profile.prompt !== "", path).toBe(true);
      }
    }
  });

  test("all of its files are found in its folders", () => {
    const found = new Set(findAgentFiles([corpus]));
    for (const path of expected.keys()) expect(found.has(join(corpus, path)), path).toBe(true);
  });
});

function words(text: string): string[] {
  return text.replaceAll("\\n", " ").match(/[\p{L}\p{N}]+/gu) ?? [];
}
