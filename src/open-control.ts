/** The part of the wiring that says who agents are and who decides: without models, tools or engine. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { discoverAgentPlaces } from "./agents/foreign/find-agent-files.ts";
import { ForeignSource } from "./agents/profiles/foreign-source.ts";
import type { Profile, ProfileFields } from "./agents/profiles/profile.ts";
import { layerOf } from "./agents/profiles/profile-layer.ts";
import { loadProfiles, type ProfileRegistry } from "./agents/profiles/profile-registry.ts";
import {
  FolderSource,
  fixedSource,
  ownLayer,
  type ProfileSource,
  withOwnServers,
} from "./agents/profiles/profile-source.ts";
import {
  type ProfileFolder,
  type ProjectFolder,
  shippedProfiles,
} from "./agents/profiles/read-profile-file.ts";
import type { SkillDirectory } from "./agents/skills/find-skill-folders.ts";
import type { SkillRegistry } from "./agents/skills/skill.ts";
import { loadSkills } from "./agents/skills/skill-registry.ts";
import type { Config } from "./control/config.ts";
import type { ProjectConfigFile } from "./control/load-config.ts";
import { type Environment, findPlaces } from "./control/places.ts";
import { ControlPlane } from "./control/records/control-plane.ts";
import { ControlView } from "./control/records/control-view.ts";
import type { Clock } from "./ports/clock.ts";
import type { Store } from "./ports/store.ts";

/** What one request may answer with where a profile names nothing else. */
export const maxOutputTokens = 8192;

/** Each file is read once: the profiles do not change while a program runs. */
const shipped = new FolderSource(shippedProfiles);

export interface ControlOptions {
  readonly cwd: string;
  readonly environment: Environment;
  readonly config: Config;
  /** Configuration files that were found and are not trusted. */
  readonly waiting?: readonly ProjectConfigFile[];
  readonly store: Store;
  /** A program's own profiles: they stand for themselves, above all others. */
  readonly profiles?: readonly Profile[];
  /** What is in the workspace counts without anybody having looked at it. */
  readonly trustWorkspace?: boolean;
  readonly clock?: Clock;
}

export interface Control {
  readonly plane: ControlPlane;
  readonly view: ControlView;
  readonly profiles: ProfileRegistry;
  readonly skills: SkillRegistry;
  /** Configuration files of the project that have no effect, since their content is not trusted. */
  waitingFiles(): readonly ProjectConfigFile[];
  /** The names of the MCP servers that the configuration declares. */
  readonly servers: ReadonlySet<string>;
  /** Whether there is any place where skills could be. */
  readonly hasSkills: boolean;
  /** Whether agents can load skills now: the person has a place for them, or a project's counts. */
  offersSkills(): boolean;
  /** What the next start will read and obey: a child may look at it, and not write it. */
  readonly guarded: readonly string[];
  close(): void;
}

export async function openControl(options: ControlOptions): Promise<Control> {
  const { config, cwd, environment, store, waiting = [] } = options;
  const places = findPlaces(environment);
  const clock = options.clock && { clock: options.clock };
  const isTrusted = options.trustWorkspace === true;
  const project = { root: cwd, isTrusted };
  const ofWorkspace = (path: string): ProfileFolder => ({ path, origin: "workspace", project });
  const plane = new ControlPlane({
    store,
    profiles: {
      has: (id) => isInFiles(profiles, id),
      problemOf: (id) => profiles.problemOf(id)?.message,
      refresh: async () => view.refresh(),
    },
    defaultWorkspace: cwd,
    ...clock,
  });
  const view = new ControlView(plane, store);
  const trusted = (): ReadonlySet<string> => view.trustedHashes();
  const { profiles: named } = config.agents.delegation;
  // The default is the user's own folder: an empty path would mean the current folder.
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
      ...(await foreignSources(project)),
      ...folders.map((path) => new FolderSource(ofWorkspace(path))),
      fixedSource(
        config.profiles.map((layer) => (layer.isProjects === true ? layer : ownLayer(layer))),
      ),
      view,
      fixedSource((options.profiles ?? []).map(layerOf).map(ownLayer)),
    ],
    trusted,
    usual: usualAmounts(config),
    ...clock,
  });
  const skillFolders = skillFoldersOf(cwd, environment, isTrusted);
  const skills = loadSkills({ directories: skillFolders, trusted, ...clock });
  const hasOwnSkills = existsSync(places.userSkills);
  await view.refresh();
  return {
    plane,
    view,
    profiles,
    skills,
    waitingFiles: () => waiting.filter(({ hash }) => !trusted().has(hash)),
    servers: new Set(Object.keys(config.mcp.servers)),
    hasSkills: skillFolders.some(({ path }) => existsSync(path)),
    offersSkills: () => hasOwnSkills || skills.all().length > 0,
    guarded: [
      ...config.files,
      ...waiting.map(({ file }) => file),
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

/** The skills that an agent in this folder could be given, trusted or not. */
export function skillNamesAt(cwd: string, environment: Environment): ReadonlySet<string> {
  const skills = loadSkills({ directories: skillFoldersOf(cwd, environment, false) });
  return new Set([...skills.all(), ...skills.waiting()].map(({ name }) => name));
}

/** Other programs' agents. Their formats are many, so the readers are loaded where there are any. */
async function foreignSources(project: ProjectFolder): Promise<readonly ProfileSource[]> {
  const { root } = project;
  if (discoverAgentPlaces(root).length === 0) return [];
  const { findAgentFiles } = await import("./agents/foreign/find-agent-files.ts");
  const { readAgentFile } = await import("./agents/foreign/read-agent-file.ts");
  const { strictestAgent } = await import("./agents/foreign/strictest-agent.ts");
  const find = (): readonly string[] => [...findAgentFiles(discoverAgentPlaces(root))];
  const read = (file: string) => readAgentFile(file, { root });
  return [new ForeignSource({ find, read, strictestAgent }, project)];
}

/** What a delegation gets where its profile names no amount: a project's layer cannot raise it. */
function usualAmounts({ agents, execution, limits }: Config): ProfileFields {
  const { defaultTimeout, tokenBudget } = agents.delegation;
  return {
    limits: {
      tokens: tokenBudget.default,
      timeoutMs: defaultTimeout,
      retries: execution.maxRetries,
      joinTokens: limits.joinTokens,
    },
    model: { maxOutputTokens },
  };
}
