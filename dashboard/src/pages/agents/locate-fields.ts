export interface FieldPlaces {
  /** `agents[0].profileId`, and the line on which its value begins. */
  readonly lines: ReadonlyMap<string, number>;
  readonly twice?: { readonly key: string; readonly field: string; readonly line: number };
}

interface Level {
  readonly path: string;
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined;
  index: number;
  key: string;
}

const word = /\s+|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu;

/** Where each value of a text stands, by its path as the server writes paths. For valid JSON. */
export function locateFields(text: string): FieldPlaces {
  const lines = new Map<string, number>();
  const levels: Level[] = [];
  let line = 1;
  let isKey = false;
  let twice: FieldPlaces["twice"];
  const here = (): string => {
    const level = levels.at(-1);
    if (level === undefined) return "";
    return level.keys === undefined
      ? `${level.path}[${level.index}]`
      : joinPath(level.path, level.key);
  };
  for (const [token] of text.matchAll(word)) {
    const level = levels.at(-1);
    if (token.trim() === "") {
      line += token.split("\n").length - 1;
    } else if (token === "}" || token === "]") {
      levels.pop();
      isKey = false;
    } else if (token === ",") {
      if (level) level.index += 1;
      isKey = level?.keys !== undefined;
    } else if (token === ":") {
      isKey = false;
    } else if (isKey && level?.keys) {
      const key = JSON.parse(token) as string;
      level.key = key;
      if (level.keys.has(key) || key === "__proto__") twice ??= { key, field: here(), line };
      level.keys.add(key);
    } else {
      const path = here();
      if (!lines.has(path)) lines.set(path, line);
      if (token === "{" || token === "[") {
        isKey = token === "{";
        const keys = isKey ? new Set<string>() : undefined;
        levels.push({ path, keys, index: 0, key: "" });
      }
    }
  }
  return twice === undefined ? { lines } : { lines, twice };
}

export function joinPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
