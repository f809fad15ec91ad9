import { foldedName, shortNames } from "./folded-name.ts";
import { type ProtectedPath, protectedPaths } from "./protected-paths.ts";

/** Why a path is protected. */
export interface Protection {
  /** The entry of the list. */
  readonly rule: string;
  readonly reason: string;
}

interface Node {
  readonly exact: Map<string, Node>;
  readonly patterns: { readonly pattern: RegExp; readonly node: Node }[];
  protection?: Protection;
}

/** How far the names of a folder have gone along paths of the list. Empty for nearly every folder. */
export type Trail = readonly Node[];

/** What one more name means where a trail has come to. */
export interface Step {
  /** The entry is protected, with all that is below it. */
  readonly protection?: Protection;
  /** Where the names below it go on; a link with one in it leads to what is protected. */
  readonly trail: Trail;
}

const anywhere = grow(protectedPaths.filter(({ atRoot }) => atRoot !== true));
const belowRoot = grow(protectedPaths.filter(({ atRoot }) => atRoot === true));
const nowhere: Trail = Object.freeze([]);
const noStep: Step = Object.freeze({ trail: nowhere });

/**
 * Where the trails of a workspace begin. Of the folders around it only beginnings count: a folder
 * that a person chose to work in is open, although it may itself be one of the protected.
 */
export function trailOf(root: string): Trail {
  let trail = nowhere;
  for (const name of root.split("/")) ({ trail } = stepInto(trail, name));
  return [...trail, belowRoot];
}

export function stepInto(trail: Trail, name: string): Step {
  const folded = foldedName(name);
  const first = childOf(anywhere, folded);
  if (first === undefined && trail.length === 0) return noStep;
  const reached = first === undefined ? [] : [first];
  for (const node of trail) {
    const child = childOf(node, folded);
    if (child !== undefined) reached.push(child);
  }
  if (reached.length === 0) return noStep;
  const protection = reached.find((node) => node.protection !== undefined)?.protection;
  const next = reached.filter(({ exact, patterns }) => exact.size > 0 || patterns.length > 0);
  return protection === undefined ? { trail: next } : { protection, trail: next };
}

/**
 * Why a file below a workspace cannot be written; undefined where it can. A file in the place of a
 * folder that holds protected paths counts as well: as a link it would bring them along.
 */
export function protectionOf(root: string, path: string): Protection | undefined {
  let trail = trailOf(root);
  for (const name of path.split(/[/\\]/)) {
    const step = stepInto(trail, name);
    if (step.protection !== undefined) return step.protection;
    ({ trail } = step);
  }
  return firstBelow(trail);
}

/** What would be protected below a folder of this trail. */
export function firstBelow(trail: Trail): Protection | undefined {
  for (const node of trail) {
    if (node === belowRoot) continue;
    const below = [...node.exact.values(), ...node.patterns.map((each) => each.node)];
    const found = below.find(({ protection }) => protection !== undefined);
    if (found?.protection !== undefined) return found.protection;
  }
  return undefined;
}

function childOf({ exact, patterns }: Node, folded: string): Node | undefined {
  return exact.get(folded) ?? patterns.find(({ pattern }) => pattern.test(folded))?.node;
}

function grow(paths: readonly ProtectedPath[]): Node {
  const top: Node = { exact: new Map(), patterns: [] };
  for (const { path, reason } of paths) {
    let node = top;
    for (const name of path.split("/")) node = childFor(node, foldedName(name));
    node.protection ??= { rule: path, reason };
  }
  return top;
}

function childFor({ exact, patterns }: Node, name: string): Node {
  const node: Node = exact.get(name) ?? { exact: new Map(), patterns: [] };
  // Under its own name, so that it is found again; no file can have one with a `*` by accident.
  exact.set(name, node);
  for (const short of shortNames(name.replace("*", ""))) exact.set(short, node);
  if (name.includes("*") && !patterns.some((each) => each.node === node)) {
    const literal = name.split("*").map((part) => part.replace(/[.\\+?^${}()|[\]]/g, "\\$&"));
    patterns.push({ pattern: new RegExp(`^${literal.join(".*")}$`, "s"), node });
  }
  return node;
}
