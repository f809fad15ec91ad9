import { randomBytes } from "node:crypto";
import { z } from "zod";
import { sha256 } from "../../events/hash-chain.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import { type Role, roles } from "../records/principal.ts";
import { seesAllRuns } from "./may-see.ts";

/** What is known of a token once it has been handed out. */
export interface AccessToken {
  readonly name: string;
  readonly role: Role;
  /** What the contracts that its holder causes may hold of scopes. */
  readonly scopes: "*" | readonly string[];
  /** Whether its holder sees the runs of every principal, or only those that it started. */
  readonly allRuns: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  /** Null: it holds until it is revoked. */
  readonly expiresAt: number | null;
}

/** As it lies in the database: with the hash of its secret, which cannot be reversed. */
export interface StoredToken extends AccessToken {
  readonly hash: string;
}

/** The name of the installation's own token, and of the command line. */
export const installationName = "local";

const namePattern = /^[a-z0-9][a-z0-9-]{0,31}$/;
const tokenPattern = /^mnd_([a-z0-9][a-z0-9-]{0,31})_([A-Za-z0-9_-]{43})$/;

/** 256 random bits: no need for a slow hash. The name in front tells which record to look at. */
export function newToken(name: string): string {
  return `mnd_${name}_${randomBytes(32).toString("base64url")}`;
}

export function hashOfToken(token: string): string {
  return sha256(token);
}

/** The name in a token, or undefined for what cannot be one. */
export function nameInToken(token: string): string | undefined {
  return tokenPattern.exec(token)?.[1];
}

export function requireTokenName(name: string): void {
  if (namePattern.test(name) && name !== installationName) return;
  const why =
    name === installationName
      ? `"${installationName}" is the installation's own token.`
      : `It has 1 to 32 small letters, digits and dashes; this is ${JSON.stringify(name.slice(0, 60))}.`;
  throw new MandateError("usage", `A token needs a name of its own. ${why}`);
}

const storedSchema = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  role: z.enum(roles as readonly [Role, ...Role[]]),
  scopes: z.union([z.literal("*"), z.array(z.string().min(1).max(200)).max(200)]),
  // Older records are without it, and so are those that it adds nothing to.
  allRuns: z.boolean().optional(),
  createdBy: z.string(),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
});

/** Undefined for a damaged record: it grants no access. */
export function readStoredToken({ resourceId, value }: ControlRecord): StoredToken | undefined {
  const parsed = storedSchema.safeParse(value);
  if (!parsed.success) return undefined;
  return { name: resourceId, ...parsed.data, allRuns: seesAllRuns(parsed.data) };
}
