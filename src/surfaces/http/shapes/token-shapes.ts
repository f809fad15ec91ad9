import { z } from "zod";
import { listOf, moment } from "./plain-data.ts";

export const tokenName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 small letters, digits and dashes");

const scopes = z.union([z.literal("*"), z.array(z.string().min(1).max(200)).max(200).readonly()]);

const tokenRow = z.object({
  name: z.string(),
  role: z.enum(["viewer", "operator", "admin"]),
  scopes,
  allRuns: z.boolean().meta({ description: "False: it sees only the runs that it started." }),
  createdBy: z.string(),
  createdAt: moment,
  expiresAt: moment.nullable(),
});

export const tokenList = z.object({ items: listOf(tokenRow) });

export const createTokenBody = z.strictObject({
  name: tokenName,
  role: z.enum(["viewer", "operator", "admin"]),
  scopes: scopes.optional().meta({ description: "Absent: those of whoever creates it." }),
  allRuns: z.boolean().optional().meta({
    description:
      "True: an operator sees the runs of every token. Viewers and admins see them in any case.",
  }),
  expiresAt: z.int().min(0).nullable().optional(),
});

export const createdToken = z.object({
  token: z.string().meta({ description: "The token itself; it cannot be had again." }),
  about: tokenRow,
});
