import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Profile } from "./profile.ts";
import {
  type ProfileDirectory,
  type ProfileProblem,
  readProfileFile,
} from "./read-profile-file.ts";

export interface ProfileRegistry {
  get(name: string): Profile | undefined;
  /** Why `get` knows nothing of a name although there is a file for it. */
  problemOf(name: string): ProfileProblem | undefined;
  names(): readonly string[];
  all(): readonly Profile[];
  readonly problems: readonly ProfileProblem[];
}

export interface ProfileSources {
  /** Later ones win. */
  readonly directories: readonly ProfileDirectory[];
  /** Wins over every directory. */
  readonly inline?: readonly Profile[];
}

type Entry = { readonly profile: Profile } | { readonly problem: ProfileProblem };

/**
 * All profiles, by name. Nothing is read before someone asks. A file that cannot be used takes its
 * name with it: falling back to a profile of that name from elsewhere could be wider than what the
 * broken file was meant to allow.
 */
export function loadProfiles(sources: ProfileSources): ProfileRegistry {
  let loaded: Loaded | undefined;
  const load = () => {
    loaded ??= readAll(sources);
    return loaded;
  };
  return {
    get: (name) => profileIn(load().entries.get(name)),
    problemOf: (name) => problemIn(load().entries.get(name)),
    names: () => [...load().profiles.keys()],
    all: () => [...load().profiles.values()],
    get problems() {
      return load().problems;
    },
  };
}

interface Loaded {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly problems: readonly ProfileProblem[];
}

function readAll(sources: ProfileSources): Loaded {
  const entries = new Map<string, Entry>();
  const problems: ProfileProblem[] = [];
  for (const directory of sources.directories) {
    for (const [name, entry] of readDirectory(directory, problems)) {
      entries.set(name, overlay(entries.get(name), entry));
    }
  }
  for (const profile of sources.inline ?? []) {
    entries.set(profile.name, overlay(entries.get(profile.name), { profile }));
  }
  const usable = [...entries.values()].map(profileIn).filter((profile) => profile !== undefined);
  usable.sort((left, right) => (left.name < right.name ? -1 : 1));
  return { entries, problems, profiles: new Map(usable.map((each) => [each.name, each])) };
}

/** How a profile is combined with one of the same name from a place before it: it replaces it. */
function overlay(_earlier: Entry | undefined, later: Entry): Entry {
  return later;
}

function readDirectory(
  directory: ProfileDirectory,
  problems: ProfileProblem[],
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const file of profileFiles(directory.path, problems)) {
    const read = readProfileFile(directory, file);
    let entry: Entry = "profile" in read ? read : { problem: read };
    const name = "profile" in read ? read.profile.name : read.name;
    const twin = entries.get(name);
    if (twin !== undefined && "profile" in entry) {
      const message = `${join(directory.path, file)}: another file here is called "${name}" too`;
      entry = { problem: { name, file: join(directory.path, file), message } };
    }
    if ("problem" in entry) problems.push(entry.problem);
    entries.set(name, entry);
  }
  return entries;
}

function profileFiles(path: string, problems: ProfileProblem[]): readonly string[] {
  try {
    // A README is about the folder; whatever begins with a dot is not ours.
    return readdirSync(path)
      .filter((file) => file.endsWith(".md") && !/^(\.|readme\.md$)/i.test(file))
      .sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    problems.push({ name: "", file: path, message: `${path}: cannot be listed (${code})` });
    return [];
  }
}

function profileIn(entry: Entry | undefined): Profile | undefined {
  return entry !== undefined && "profile" in entry ? entry.profile : undefined;
}

function problemIn(entry: Entry | undefined): ProfileProblem | undefined {
  return entry !== undefined && "problem" in entry ? entry.problem : undefined;
}
