import { z } from "zod";
import type { ChangeProblemKind } from "../copies/change-problem.ts";
import { damagedBundle, type GitBundle, readBundle, writeBundle } from "./git-bundle.ts";

/**
 * A bundle as one text: a line that says what it is, then the bundle itself. Artifacts are texts,
 * and the same state gives the same text, so that siblings share one.
 */

/** Packed; about a third more as a text. */
export const maximumBundleBytes = 256 * 1024 * 1024;

const hash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const path = z.string().max(65_536);

const startSchema = z.strictObject({
  mandate: z.literal("copy"),
  version: z.literal(1),
  base: hash,
  /** The commit that the caller was on; null also where it does not come along. */
  head: hash.nullable(),
  prefix: z.string().refine(isInside, "must stay inside"),
  /** The commits whose parents do not come along. */
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
  /** Null: nothing was changed. */
  commit: hash.nullable(),
  problems: z.array(z.strictObject({ kind: problemKind, paths: z.array(path).max(200_000) })),
});

/** What a copy was when it was made. */
export type StartHeader = z.infer<typeof startSchema>;
/** What was changed in it since. */
export type ChangesHeader = z.infer<typeof changesSchema>;

export function sealBundle(header: StartHeader | ChangesHeader, bundle: GitBundle | null): string {
  const body = bundle === null ? "" : writeBundle(bundle).toString("base64");
  return `${JSON.stringify(header)}\n${body}`;
}

export function openStart(text: string): { header: StartHeader; bundle: GitBundle } {
  const { header, body } = open(text, startSchema);
  const bundle = readBody(body);
  const [ref, ...others] = bundle.refs;
  if (bundle.prerequisites.length > 0 || others.length > 0 || ref?.commit !== header.base) {
    throw damagedBundle("it holds something else than the commit that it is about");
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
    throw damagedBundle("it holds something else than the changes that it is about");
  }
  return { header, bundle };
}

function open<Header>(
  text: string,
  schema: z.ZodType<Header>,
): { readonly header: Header; readonly body: string } {
  if (text.length > longestText) throw damagedBundle("it is larger than bundles may be");
  const end = text.indexOf("\n");
  if (end < 0) throw damagedBundle("it has no first line");
  let said: unknown;
  try {
    said = JSON.parse(text.slice(0, end));
  } catch (cause) {
    throw damagedBundle("its first line is not JSON", cause);
  }
  const { data, error } = schema.safeParse(said);
  if (data === undefined) throw damagedBundle("its first line says something else", error);
  return { header: data, body: text.slice(end + 1) };
}

const longestText = Math.ceil(maximumBundleBytes / 3) * 4 + 64 * 1024 * 1024;

/** Another way to write the same bytes is not what was sealed. */
function readBody(body: string): GitBundle {
  const bytes = Buffer.from(body, "base64");
  if (bytes.toString("base64") !== body) throw damagedBundle("it is not whole");
  return readBundle(bytes);
}

/** A folder below the one that was copied, named without detours. */
function isInside(prefix: string): boolean {
  if (prefix === "") return true;
  const isStep = (step: string): boolean =>
    step !== "" && step !== "." && step !== ".." && step.toLowerCase() !== ".git";
  return prefix.split("/").every(isStep) && !/[\\\0]/.test(prefix);
}
