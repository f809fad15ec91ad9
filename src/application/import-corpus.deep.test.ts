import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findWider } from "../agents/foreign/authority-of.test-support.ts";
import { readAgentFile } from "../agents/foreign/read-agent-file.ts";
import { strictestAgent } from "../agents/foreign/strictest-agent.ts";
import type { Profile, ProfileFields } from "../agents/profiles/profile.ts";
import { mergeLayers } from "../agents/profiles/profile-layer.ts";
import { loadProfiles } from "../agents/profiles/profile-registry.ts";
import { FolderSource } from "../agents/profiles/profile-source.ts";
import { shippedProfiles } from "../agents/profiles/read-profile-file.ts";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { type Conversion, convertAgentFiles } from "./import-agents.ts";

const corpus = join(import.meta.dirname, "../../../shared/corpora/agents");
const isThere = existsSync(join(corpus, "expected.tsv"));
const title = isThere ? "public agent files" : `public agent files (skipped: no ${corpus})`;

/** The profiles of a folder of converted agents, over the shipped ones. */
function load(agents: Conversion["agents"], isProject: boolean) {
  const path = join(testFolder(), "agents");
  mkdirSync(path, { recursive: true });
  for (const { markdown, name } of agents) writeFileSync(join(path, `${name}.md`), markdown);
  const project = isProject && { project: { root: path, isTrusted: true } };
  const folder = new FolderSource({ path, origin: "converted", ...project });
  return loadProfiles({ sources: [new FolderSource(shippedProfiles), folder] });
}

function inPlace(name: string, fields: ProfileFields): Profile {
  return mergeLayers([{ name, fields, origin: "", replaces: true }]);
}

function withoutPlace({ origin: _origin, origins: _origins, project: _project, ...rest }: Profile) {
  return rest;
}

describe.skipIf(!isThere)(title, () => {
  const paths = isThere
    ? readFileSync(join(corpus, "expected.tsv"), "utf8")
        .split("\n")
        .slice(1)
        .filter(Boolean)
        .map((row) => join(corpus, row.split("\t")[0] ?? ""))
    : [];
  const shipped = new Set(loadProfiles({ sources: [new FolderSource(shippedProfiles)] }).names());

  test("each file alone is converted and loaded again as the same profile", () => {
    let count = 0;
    for (const path of paths) {
      const file = readAgentFile(path);
      if (file.format === "skill") continue;
      const { agents, duplicates, refused } = convertAgentFiles([path]);
      expect(refused, path).toEqual([]);
      expect(agents.length + duplicates.length, path).toBe(file.agents.length);
      const profiles = load(agents, false);
      expect(profiles.problems, path).toEqual([]);
      for (const { name } of agents) {
        const twins = file.agents.filter((each) => each.name === name);
        const [first, ...more] = twins;
        if (first === undefined) throw new Error(`${path}: ${name} is not in the file`);
        const { fields } = strictestAgent([first, ...more]);
        const loaded = profiles.get(name);
        if (loaded === undefined) {
          expect(fields.disabled, `${path}: ${name}`).toBe(true);
          continue;
        }
        expect(withoutPlace(loaded), path).toEqual(withoutPlace(inPlace(name, fields)));
        for (const twin of twins) expect(findWider(loaded, twin.fields), path).toEqual([]);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(500);
  });

  test("all files together give agents that are no wider than any of their name", () => {
    const { agents, refused } = convertAgentFiles([corpus], shipped);
    expect(refused).toEqual([]);
    const read = convertAgentFiles([corpus]).files.filter(({ format }) => format !== "skill");
    const sources = Map.groupBy(
      read.flatMap((file) => file.agents),
      ({ name }) => name,
    );
    const profiles = load(agents, true);
    expect(profiles.problems.filter(({ message }) => !/switched off/.test(message))).toEqual([]);
    for (const { name, originally = name } of agents) {
      const loaded = profiles.get(name);
      if (loaded === undefined) continue;
      expect(loaded.project?.own, name).toBeUndefined();
      for (const { fields } of sources.get(originally) ?? []) {
        const renamed =
          originally === name
            ? []
            : findWider({ ...loaded, toolRules: fields.toolRules ?? [] }, fields);
        expect(originally === name ? findWider(loaded, fields) : renamed, name).toEqual([]);
      }
    }
  });
});
