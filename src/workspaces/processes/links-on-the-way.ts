import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";

/** As many as the system follows. */
const mostLinks = 40;

/** Every link that an absolute path leads through, the folders on the way and the path itself included. */
export function linksOnTheWay(path: string): readonly string[] {
  const passed = new Set<string>();
  const follow = (target: string): string => {
    let at = parse(target).root;
    for (const name of target.slice(at.length).split(sep)) {
      at = join(at, name);
      if (passed.size >= mostLinks || passed.has(at)) continue;
      const leadsTo = targetOf(at);
      if (leadsTo === undefined) continue;
      passed.add(at);
      at = follow(resolve(dirname(at), leadsTo));
    }
    return at;
  };
  follow(path);
  return [...passed];
}

function targetOf(place: string): string | undefined {
  try {
    return lstatSync(place).isSymbolicLink() ? readlinkSync(place) : undefined;
  } catch {
    return undefined;
  }
}
