import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { type Profile, type ProfileFields, reservedName } from "./profile.ts";
import { describeClash, findClash, mergeLayers, type ProfileLayer } from "./profile-layer.ts";
import { type ProfileSource, type SourceContent, withoutTwins } from "./profile-source.ts";
import type { ProfileProblem } from "./read-profile-file.ts";

export interface ProfileRegistry {
  get(name: string): Profile | undefined;
  /** The reason why `get` finds no profile although a file defines the name. */
  problemOf(name: string): ProfileProblem | undefined;
  names(): readonly string[];
  all(): readonly Profile[];
  /** The profiles that a delegating model may choose from. */
  offered(): readonly Profile[];
  /** The layers that are not trusted, and so have no effect. */
  pending(): readonly ProfileLayer[];
  /** The profile as it would be if all untrusted layers of its name were trusted. */
  afterTrust(name: string): Profile | undefined;
  /** All layers of a name, in the order in which they are merged. */
  layersOf(name: string): readonly ProfileLayer[];
  readonly problems: readonly ProfileProblem[];
}

export interface ProfileRegistryOptions {
  /** Later ones are merged over earlier ones. */
  readonly sources: readonly ProfileSource[];
  /** The hashes of trusted content. A change gives another set. */
  readonly trusted?: () => ReadonlySet<string>;
  /** The amounts that apply where a profile names none. A project's layer cannot raise them. */
  readonly usual?: ProfileFields;
  /** How long a result is used before files are checked for changes. */
  readonly recheckMs?: number;
  readonly clock?: Clock;
}

/**
 * All profiles, by name, read at the first call and again when they change. A broken file of the
 * person blocks its name: another profile of that name could allow more than the file was meant to
 * allow. A folder that cannot be listed blocks every name that it could narrow. A project's file
 * that is broken or not trusted has no effect, and blocks no name.
 */
export function loadProfiles(options: ProfileRegistryOptions): ProfileRegistry {
  const { sources, trusted = () => nobody, recheckMs = 1000 } = options;
  const { clock = systemClock, usual = {} } = options;
  let loaded: Loaded | undefined;
  let contents: readonly SourceContent[] = [];
  let checkedAt = 0;
  const load = (): Loaded => {
    const time = clock.monotonic();
    const current = loaded?.trusted === trusted() ? loaded : undefined;
    if (current !== undefined && time - checkedAt < recheckMs) return current;
    checkedAt = time;
    const next = sources.map((source) => source.read());
    const isSame = next.every((content, index) => content === contents[index]);
    if (current !== undefined && isSame) return current;
    contents = next;
    loaded = new Loaded(next, trusted(), usual);
    return loaded;
  };
  return {
    get: (name) => load().profiles.get(name),
    problemOf: (name) => load().problemOf(name),
    names: () => [...load().profiles.keys()],
    all: () => [...load().profiles.values()],
    offered: () => load().offered,
    pending: () => load().pending,
    afterTrust: (name) => {
      const { trusted, pending } = load();
      const hashes = pending.flatMap((layer) => (layer.name === name ? [layer.untrustedHash] : []));
      const all = new Set([...trusted, ...hashes.filter((hash) => hash !== undefined)]);
      const named = contents.map((content) => {
        return { ...content, layers: content.layers.filter((layer) => layer.name === name) };
      });
      return new Loaded(named, all, usual).profiles.get(name);
    },
    layersOf: (name) => load().layers.get(name) ?? [],
    get problems() {
      return load().problems;
    },
  };
}

const nobody: ReadonlySet<string> = new Set();

class Loaded {
  readonly trusted: ReadonlySet<string>;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly offered: readonly Profile[];
  readonly layers = new Map<string, ProfileLayer[]>();
  readonly blocked = new Map<string, ProfileProblem>();
  readonly problems: ProfileProblem[] = [];
  readonly pending: ProfileLayer[] = [];
  #unknown: ProfileProblem | undefined;
  /** Names with a whole profile after the unreadable folder, which could not have narrowed them. */
  readonly #whole = new Set<string>();

  constructor(
    contents: readonly SourceContent[],
    trusted: ReadonlySet<string>,
    usual: ProfileFields,
  ) {
    this.trusted = trusted;
    for (const content of contents) {
      const counting = content.layers.filter((layer) => this.#mayBe(layer) && this.#counts(layer));
      const { layers, problems } = withoutTwins(counting, content);
      for (const layer of layers) this.#add(layer);
      for (const problem of [...content.problems, ...problems]) {
        this.problems.push(problem);
        if (problem.isAboutAll === true) {
          this.#unknown = problem;
          this.#whole.clear();
        } else if (problem.name !== "" && problem.isHarmless !== true) {
          this.blocked.set(problem.name, problem);
        }
      }
    }
    const usable = [...this.layers.keys()].flatMap((name) => this.#merge(name, usual) ?? []);
    usable.sort((left, right) => (left.name < right.name ? -1 : 1));
    this.profiles = new Map(usable.map((profile) => [profile.name, profile]));
    this.offered = usable.filter(isOffered);
    // A layer without effect can be the reason why a name is missing.
    const reasons = [...this.problems.filter(({ isHarmless }) => isHarmless === true)];
    for (const problem of [...this.pending.map(notTrusted), ...reasons]) {
      const { name } = problem;
      if (name === "" || this.layers.has(name) || this.blocked.has(name)) continue;
      this.blocked.set(name, problem);
    }
  }

  problemOf(name: string): ProfileProblem | undefined {
    const message = reservedName(name);
    if (message !== undefined) return { name, file: "", message };
    return this.blocked.get(name) ?? (this.profiles.has(name) ? undefined : this.#unknown);
  }

  #mayBe({ name, origin }: ProfileLayer): boolean {
    const reason = reservedName(name);
    if (reason === undefined) return true;
    this.problems.push({ name, file: origin, message: `${origin}: ${reason}`, isHarmless: true });
    return false;
  }

  #counts(layer: ProfileLayer): boolean {
    const { untrustedHash } = layer;
    if (untrustedHash === undefined || this.trusted.has(untrustedHash)) return true;
    this.pending.push(layer);
    return false;
  }

  #add(layer: ProfileLayer): void {
    const { isProjects = false, name, replaces = false } = layer;
    const below = this.layers.get(name) ?? [];
    if (!replaces) this.layers.set(name, [...below, layer]);
    // Layers of the person and the product stay: a project only narrows them.
    else if (isProjects) {
      const isRefused = findClash([...below, layer]) !== undefined;
      this.layers.set(name, [...(isRefused ? below : below.filter(isOwn)), layer]);
    } else {
      this.blocked.delete(name);
      this.#whole.add(name);
      this.layers.set(name, [layer]);
    }
  }

  #merge(name: string, usual: ProfileFields): Profile | undefined {
    const isUncertain = this.#unknown !== undefined && !this.#whole.has(name);
    if (this.blocked.has(name) || isUncertain) return undefined;
    const layers = this.#withoutClash(name);
    try {
      const profile = mergeLayers(layers, usual);
      if (profile.disabled !== true) return profile;
      const message = `${profile.origin}: the profile "${name}" is switched off (disabled: true)`;
      this.blocked.set(name, { name, file: profile.origin, message });
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      const file = layers.at(-1)?.origin ?? "";
      const problem = { name, file, message: error.message };
      this.blocked.set(name, problem);
      this.problems.push(problem);
    }
    return undefined;
  }

  #withoutClash(name: string): readonly ProfileLayer[] {
    const layers = this.layers.get(name) ?? [];
    const clash = findClash(layers);
    if (clash === undefined) return layers;
    const message = describeClash(clash);
    this.problems.push({ name, file: clash.origin, message, isHarmless: true });
    const left = layers.filter((layer) => layer !== clash);
    this.layers.set(name, left);
    return left;
  }
}

function isOffered({ capabilities, hidden }: Profile): boolean {
  return hidden !== true && capabilities.some((each) => each !== "primary" && each !== "watcher");
}

function isOwn({ isProjects }: ProfileLayer): boolean {
  return isProjects !== true;
}

function notTrusted({ name, origin }: ProfileLayer): ProfileProblem {
  const message = `The profile "${name}" comes with this project (${origin}) and is not trusted as it is now. Look at it with "mandate profiles show ${name}", then "mandate profiles trust ${name}".`;
  return { name, file: origin, message };
}
