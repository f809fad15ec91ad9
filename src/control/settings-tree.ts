/** The settings of a file, by the names of its keys. */
export type SettingsTree = Record<string, unknown>;

export type SettingPath = readonly string[];

export function settingAt(tree: SettingsTree, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as SettingsTree)[key]
        : undefined,
    tree,
  );
}

/** What a found file says, while it is narrowed, and what was not taken of it as it stands. */
export class FoundSettings {
  readonly tree: SettingsTree;
  readonly #notTaken: SettingPath[] = [];

  constructor(settings: object) {
    this.tree = structuredClone(settings) as SettingsTree;
  }

  get notTaken(): readonly SettingPath[] {
    return this.#notTaken;
  }

  /** Where both say something, the found word is replaced by what allows least. */
  lower(
    path: SettingPath,
    most: unknown,
    least: (found: unknown, most: unknown) => unknown = smaller,
  ): void {
    const own = settingAt(this.tree, path);
    if (own === undefined || most === undefined) return;
    const taken = least(own, most);
    if (JSON.stringify(taken) === JSON.stringify(own)) return;
    this.replace(path, taken);
    this.#notTaken.push(path);
  }

  /** Undefined: as if the file had not said it. */
  replace(path: SettingPath, value: unknown): void {
    const holder = settingAt(this.tree, path.slice(0, -1)) as SettingsTree;
    const key = path.at(-1) ?? "";
    if (value === undefined) delete holder[key];
    else holder[key] = value;
  }
}

function smaller(found: unknown, most: unknown): number {
  return Math.min(Number(found), Number(most));
}
