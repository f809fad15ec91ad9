import { createHash } from "node:crypto";
import type { ObjectFormat } from "../place.ts";
import { RepositoryRefused } from "../repository-refusal.ts";

/** A pack, and what it is about: the format that `git bundle` writes and reads. */
export interface GitBundle {
  readonly objectFormat: ObjectFormat;
  /** Commits that whoever takes the pack has already. */
  readonly prerequisites: readonly string[];
  readonly refs: readonly { readonly name: string; readonly commit: string }[];
  readonly pack: Uint8Array;
}

/** Written by hand: git itself makes no bundle of a commit without the ones below it. */
export function writeBundle({ objectFormat, pack, prerequisites, refs }: GitBundle): Buffer {
  const version = objectFormat === "sha1" ? "# v2 git bundle\n" : v3;
  const header = [
    version,
    ...prerequisites.map((commit) => `-${commit} \n`),
    ...refs.map(({ name, commit }) => `${commit} ${name}\n`),
    "\n",
  ];
  return Buffer.concat([Buffer.from(header.join("")), pack]);
}

const v3 = "# v3 git bundle\n@object-format=sha256\n";
const maximumHeader = 65_536;

/** Nothing but what `writeBundle` writes is understood. */
export function readBundle(bytes: Buffer): GitBundle {
  const end = bytes.subarray(0, maximumHeader).indexOf("\n\n");
  if (end < 0) throw damagedBundle("it has no beginning that can be read");
  const lines = bytes.toString("latin1", 0, end).split("\n");
  const isLong = lines[0] === "# v3 git bundle" && lines[1] === "@object-format=sha256";
  if (!isLong && lines[0] !== "# v2 git bundle") throw damagedBundle("it is no git bundle");
  const commit = isLong ? "[0-9a-f]{64}" : "[0-9a-f]{40}";
  const prerequisite = new RegExp(`^-(${commit})(?: .*)?$`);
  const ref = new RegExp(`^(${commit}) (refs/[A-Za-z0-9/_-]{1,200})$`);
  const prerequisites: string[] = [];
  const refs: { name: string; commit: string }[] = [];
  for (const line of lines.slice(isLong ? 2 : 1)) {
    const before = prerequisite.exec(line)?.[1];
    const [, at, name] = ref.exec(line) ?? [];
    if (before !== undefined) prerequisites.push(before);
    else if (at !== undefined && name !== undefined) refs.push({ name, commit: at });
    else throw damagedBundle("its beginning holds what no bundle of ours does");
  }
  const objectFormat = isLong ? "sha256" : "sha1";
  const pack = bytes.subarray(end + 2);
  if (!isWhole(pack, objectFormat)) throw damagedBundle("its pack is not whole");
  return { objectFormat, prerequisites, refs, pack };
}

/** A pack ends with the hash of itself; what comes after that git would pass over in silence. */
function isWhole(pack: Buffer, objectFormat: ObjectFormat): boolean {
  const length = objectFormat === "sha1" ? 20 : 32;
  const hash = createHash(objectFormat).update(pack.subarray(0, -length)).digest();
  return pack.length > length && hash.equals(pack.subarray(-length));
}

/** `what` is wrong with it. */
export function damagedBundle(what: string, cause?: unknown): RepositoryRefused {
  const sentence = `A bundle of a working copy cannot be used: ${what}. Start the delegation again.`;
  return new RepositoryRefused({ code: "bundle-damaged", sentence }, { cause });
}
