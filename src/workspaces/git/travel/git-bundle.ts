import { createHash } from "node:crypto";
import { z } from "zod";
import { headOf } from "../../../text.ts";
import type { ChangeProblemKind } from "../copies/change-problem.ts";
import { GitFailure, RepositoryRefused } from "../git-failure.ts";
import type { ObjectFormat } from "../read-git.ts";

/** A pack with its description, in the format of `git bundle`. */
export interface GitBundle {
  readonly objectFormat: ObjectFormat;
  /** Commits that the receiver of the pack has already. */
  readonly prerequisites: readonly string[];
  readonly refs: readonly { readonly name: string; readonly commit: string }[];
  readonly pack: Uint8Array;
}

/** Written by hand, because git does not bundle a commit without its ancestors. */
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

/** Accepts only what `writeBundle` writes. */
export function readBundle(bytes: Buffer): GitBundle {
  const end = bytes.subarray(0, maximumHeader).indexOf("\n\n");
  if (end < 0) throw damagedBundle("its header cannot be read");
  const lines = bytes.toString("latin1", 0, end).split("\n");
  const isLong = lines[0] === "# v3 git bundle" && lines[1] === "@object-format=sha256";
  if (!isLong && lines[0] !== "# v2 git bundle") throw damagedBundle("it is not a git bundle");
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
    else throw damagedBundle("its header has an unknown line");
  }
  const objectFormat = isLong ? "sha256" : "sha1";
  const pack = bytes.subarray(end + 2);
  if (!isWhole(pack, objectFormat)) throw damagedBundle("its pack is incomplete");
  return { objectFormat, prerequisites, refs, pack };
}

/** A pack ends with its own hash. Git would silently ignore bytes after that. */
function isWhole(pack: Buffer, objectFormat: ObjectFormat): boolean {
  const length = objectFormat === "sha1" ? 20 : 32;
  const hash = createHash(objectFormat).update(pack.subarray(0, -length)).digest();
  return pack.length > length && hash.equals(pack.subarray(-length));
}

/** An error about a bundle; `what` is wrong with it. */
export function damagedBundle(what: string, cause?: unknown): RepositoryRefused {
  const sentence = `A bundle of a working copy cannot be used: ${what}. Start the delegation again.`;
  return new RepositoryRefused({ code: "bundle-damaged", sentence }, { cause });
}

/** The failure of a bundle for an error of git; other errors are returned unchanged. */
export function bundleFailure(what: string, error: unknown): unknown {
  if (!(error instanceof GitFailure) || error.kind !== "exit") return error;
  const said = error.stderr.trim().split("\n")[0] ?? "";
  return damagedBundle(`${what} (${headOf(said, 200)})`, error);
}

/**
 * A bundle as one text: a header line, then the bundle. Artifacts are texts, and the same state
 * gives the same text, so that siblings share one.
 */

/** The most packed bytes; base64 adds a third. */
export const maximumBundleBytes = 256 * 1024 * 1024;

const hash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const path = z.string().max(65_536);

const startSchema = z.strictObject({
  mandate: z.literal("copy"),
  version: z.literal(1),
  base: hash,
  /** The caller's commit; null also if it is not included. */
  head: hash.nullable(),
  prefix: z.string().refine(isInside, "must stay inside"),
  /** The commits whose parents are not included. */
  shallow: z.string(),
  ignoreRules: z.string(),
  omitted: z
    .array(
      z.strictObject({ path, reason: z.enum(["nested-repository", "submodule", "too-large"]) }),
    )
    .max(200_000),
});

const problemKind = z.enum([
  "nested-repository",
  "embedded-repository",
  "submodule",
  "special-file",
  "escaping-link",
  "control-name",
  "control-link",
  "unreadable-name",
  "hidden-name",
  "case-collision",
  "outside-workspace",
  "too-large",
  "too-many",
] satisfies ChangeProblemKind[]);

const changesSchema = z.strictObject({
  mandate: z.literal("changes"),
  version: z.literal(1),
  base: hash,
  /** The commit with the changes; null: nothing changed. */
  commit: hash.nullable(),
  problems: z.array(z.strictObject({ kind: problemKind, paths: z.array(path).max(200_000) })),
});

/** The state of a copy when it was created. */
export type StartHeader = z.infer<typeof startSchema>;
/** The changes in a copy since it travelled. */
type ChangesHeader = z.infer<typeof changesSchema>;

export function sealBundle(header: StartHeader | ChangesHeader, bundle: GitBundle | null): string {
  const body = bundle === null ? "" : writeBundle(bundle).toString("base64");
  return `${JSON.stringify(header)}\n${body}`;
}

export function openStart(text: string): { header: StartHeader; bundle: GitBundle } {
  const { header, body } = open(text, startSchema);
  const bundle = readBody(body);
  const [ref, ...others] = bundle.refs;
  if (bundle.prerequisites.length > 0 || others.length > 0 || ref?.commit !== header.base) {
    throw damagedBundle("it does not hold exactly its commit");
  }
  return { header, bundle };
}

export function openChanges(text: string): { header: ChangesHeader; bundle: GitBundle | null } {
  const { header, body } = open(text, changesSchema);
  if (header.commit === null) return { header, bundle: null };
  const bundle = readBody(body);
  const [base, ...more] = bundle.prerequisites;
  const [ref, ...others] = bundle.refs;
  const isWhole = base === header.base && ref?.commit === header.commit;
  if (!isWhole || more.length > 0 || others.length > 0) {
    throw damagedBundle("it does not hold exactly its changes");
  }
  return { header, bundle };
}

function open<Header>(
  text: string,
  schema: z.ZodType<Header>,
): { readonly header: Header; readonly body: string } {
  if (text.length > longestText) throw damagedBundle("it is too large");
  const end = text.indexOf("\n");
  if (end < 0) throw damagedBundle("it has no first line");
  let said: unknown;
  try {
    said = JSON.parse(text.slice(0, end));
  } catch (cause) {
    throw damagedBundle("its first line is not JSON", cause);
  }
  const { data, error } = schema.safeParse(said);
  if (data === undefined) throw damagedBundle("its first line is not a valid header", error);
  return { header: data, body: text.slice(end + 1) };
}

const longestText = Math.ceil(maximumBundleBytes / 3) * 4 + 64 * 1024 * 1024;

/** Reads a bundle, and refuses another encoding of the same bytes. */
function readBody(body: string): GitBundle {
  const bytes = Buffer.from(body, "base64");
  if (bytes.toString("base64") !== body) throw damagedBundle("it is incomplete");
  return readBundle(bytes);
}

/** A folder below the copied one, without `.` and `..`. */
function isInside(prefix: string): boolean {
  if (prefix === "") return true;
  const isStep = (step: string): boolean =>
    step !== "" && step !== "." && step !== ".." && step.toLowerCase() !== ".git";
  return prefix.split("/").every(isStep) && !/[\\\0]/.test(prefix);
}
