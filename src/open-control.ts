/** The part of the wiring that says who agents are and who decides: without models, tools or engine. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "./control/config.ts";
import { type Environment, findPlaces } from "./control/places.ts";
import { ControlPlane } from "./control/records/control-plane.ts";
import { ControlView } from "./control/records/control-view.ts";
import type { Store } from "./ports/store.ts";
import { discoverAgentPlaces } from "./profiles/foreign/discover-agent-places.ts";
import { ForeignSource } from "./profiles/foreign-source.ts";
import type { Profile } from "./profiles/profile.ts";
import { layerOf, type ProfileLayer } from "./profiles/profile-layer.ts";
import { loadProfiles, type ProfileRegistry } from "./profiles/profile-registry.ts";
import { FolderSource, fixedSource, type ProfileSource } from "./profiles/profile-source.ts";
import { type ProfileFolder, startsPrograms } from "./profiles/read-profile-file.ts";
import { shippedProfiles } from "./profiles/shipped-profiles.ts";
import { ownLayer, withOwnServers } from "./profiles/with-own-servers.ts";
import type { SkillDirectory } from "./skills/find-skill-folders.ts";
import type { SkillRegistry } from "./skills/skill.ts";
import { loadSkills } from "./skills/skill-registry.ts";

/** They do not change under a program that runs: each file is read once, whoever asks. */
const shipped = new FolderSource(shippedProfiles);

export interface ControlOptions {
  readonly cwd: string;
  readonly environment: Environment;
  readonly config: Config;
  readonly store: Store;
  /** A program's own profiles: they stand for themselves, above all others. */
  readonly profiles?: readonly Profile[];
  /** What lies in the workspace counts without anybody having acknowledged it. */
  readonly trustWorkspace?: boolean;
}

export interface Control {
  readonly plane: ControlPlane;
  readonly view: ControlView;
  readonly profiles: ProfileRegistry;
  readonly skills: SkillRegistry;
  /** Whether there is any place where skills could be. */
  readonly hasSkills: boolean;
  /** What the next start will read and obey: a child may look at it, and not write it. */
  readonly guarded: readonly string[];
  close(): void;
}

export async function openControl(options: ControlOptions): Promise<Control> {
  const { config, cwd, environment, store } = options;
  const places = findPlaces(environment);
  const isTrusted = options.trustWorkspace === true;
  // What came with a repository was written by others; in a plain folder the files are one's own.
  const need = isTrusted ? undefined : isInRepository(cwd) ? "always" : "servers";
  const ofWorkspace = (path: string): ProfileFolder => ({
    path,
    origin: "workspace",
    ...(need && { needsAcknowledgement: need }),
  });
  const plane = new ControlPlane({
    store,
    profiles: {
      has: (id) => isInFiles(profiles, id),
      problemOf: (id) => profiles.problemOf(id)?.message,
      refresh: async () => view.refresh(),
    },
    defaultWorkspace: cwd,
  });
  const view = new ControlView(plane, store);
  const acknowledged = (): ReadonlySet<string> => view.acknowledged();
  const { profiles: named } = config.agents.delegation;
  // Unsaid, it is the user's own: a folder without a name would be the current one.
  const directory = named.directory || places.userAgents;
  const userFolder =
    named.isProjects === true ? (named.userDirectory ?? places.userAgents) : directory;
  const folders = [
    ...(named.isProjects === true ? [directory] : []),
    ...["profiles", ".mandate/agents"].map((path) => join(cwd, path)),
  ];
  const profiles = loadProfiles({
    sources: [
      shipped,
      withOwnServers(new FolderSource({ path: userFolder, origin: "user" })),
      ...(await foreignSources(cwd, isTrusted)),
      ...folders.map((path) => new FolderSource(ofWorkspace(path))),
      fixedSource(
        config.profiles
          .map((layer) => (layer.unacknowledged === undefined ? ownLayer(layer) : layer))
          .map((layer) => (isOwn(layer, need) ? owned(layer) : layer)),
      ),
      view,
      fixedSource((options.profiles ?? []).map(layerOf).map(ownLayer)),
    ],
    acknowledged,
  });
  const skillFolders = skillFoldersOf(cwd, environment, isTrusted);
  await view.refresh();
  return {
    plane,
    view,
    profiles,
    skills: loadSkills({ directories: skillFolders, acknowledged }),
    hasSkills: skillFolders.some(({ path }) => existsSync(path)),
    guarded: [
      ...config.files,
      userFolder,
      directory,
      ...["profiles", "skills"].map((path) => join(cwd, path)),
    ],
    close: () => view.close(),
  };
}

/** Apart from the records, which the control plane reads itself: one may just have been deleted. */
function isInFiles(profiles: ProfileRegistry, id: string): boolean {
  const name = profiles.get(id)?.name ?? "";
  return profiles.layersOf(name).some(({ origin }) => !origin.startsWith("record:"));
}

/** Where a project keeps skills, ours and other programs'. */
const skillPlaces = [
  { path: ".mandate/skills", origin: "workspace" },
  { path: "skills", origin: "workspace" },
  { path: ".agents/skills", origin: "agents" },
  { path: ".claude/skills", origin: "claude" },
];

function skillFoldersOf(
  cwd: string,
  environment: Environment,
  isTrusted: boolean,
): readonly SkillDirectory[] {
  return [
    { path: findPlaces(environment).userSkills, origin: "user" },
    ...skillPlaces.map(({ origin, path }) => ({
      path: join(cwd, path),
      origin,
      isRepository: !isTrusted,
      boundary: cwd,
    })),
  ];
}

/** The skills that somebody who works there could be given, acknowledged or not. */
export function skillNamesAt(cwd: string, environment: Environment): ReadonlySet<string> {
  const directories = skillFoldersOf(cwd, environment, false);
  return new Set(
    loadSkills({ directories })
      .all()
      .map(({ name }) => name),
  );
}

/** Other programs' agents. Their formats are many, so the readers are loaded where there are any. */
async function foreignSources(cwd: string, isTrusted: boolean): Promise<readonly ProfileSource[]> {
  if (discoverAgentPlaces(cwd).length === 0) return [];
  const { findAgentFiles } = await import("./profiles/foreign/find-agent-files.ts");
  const { readAgentFile } = await import("./profiles/foreign/read-agent-file.ts");
  const find = (): readonly string[] => [...findAgentFiles(discoverAgentPlaces(cwd))];
  const read = (file: string) => readAgentFile(file, { root: cwd });
  return [new ForeignSource({ find, read }, isTrusted)];
}

/** The configuration of a project is judged like its files. */
function isOwn({ fields }: ProfileLayer, need: ProfileFolder["needsAcknowledgement"]): boolean {
  return need !== "always" && (need === undefined || !startsPrograms(fields));
}

function owned({ unacknowledged: _unacknowledged, ...layer }: ProfileLayer): ProfileLayer {
  return layer;
}

function isInRepository(folder: string): boolean {
  if ([".git", ".hg", ".jj", ".svn"].some((each) => existsSync(join(folder, each)))) return true;
  const parent = dirname(folder);
  return parent !== folder && isInRepository(parent);
}
