import { z } from "zod";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { HttpProblem } from "../problem.ts";
import { defineRoute } from "../route.ts";
import { listOf, moment } from "./shared-schemas.ts";

const tokenName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 small letters, digits and dashes");

const scopes = z.union([z.literal("*"), z.array(z.string().min(1).max(200)).max(200).readonly()]);

const tokenRow = z.object({
  name: z.string(),
  role: z.enum(["viewer", "operator", "admin"]),
  scopes,
  allRuns: z.boolean().meta({ description: "False: it sees only its own runs." }),
  createdBy: z.string(),
  createdAt: moment,
  expiresAt: moment.nullable(),
});

const tokenList = z.object({ items: listOf(tokenRow) });

const createTokenBody = z.strictObject({
  name: tokenName,
  role: z.enum(["viewer", "operator", "admin"]),
  scopes: scopes.optional().meta({ description: "Absent: the scopes of the creator." }),
  allRuns: z.boolean().optional().meta({
    description: "True: an operator sees the runs of all tokens. Viewers and admins always do.",
  }),
  expiresAt: z.int().min(0).nullable().optional(),
});

const createdToken = z.object({
  token: z.string().meta({ description: "The token, which is shown only once." }),
  about: tokenRow,
});

const tag = "tokens";

type Scopes = "*" | readonly string[];

export const tokenRoutes = [
  defineRoute({
    id: "listTokens",
    method: "GET",
    path: "/tokens",
    summary: "Lists the named tokens, without their secrets.",
    tag,
    role: "admin",
    reply: tokenList,
    handle: async (_request, { tokens }) => ({ items: await tokens.list() }),
  }),
  defineRoute({
    id: "createToken",
    method: "POST",
    path: "/tokens",
    summary: "Creates a named token with a role and scopes, and shows it once.",
    tag,
    role: "admin",
    body: createTokenBody,
    reply: createdToken,
    keepsReply: false,
    status: 201,
    handle: ({ body, principal }, { tokens }) =>
      tokens.create({ ...body, scopes: scopesFor(body.scopes, principal) }, principal),
  }),
  defineRoute({
    id: "revokeToken",
    method: "DELETE",
    path: "/tokens/:name",
    summary: "Revokes a token, at once.",
    tag,
    role: "admin",
    params: z.object({ name: tokenName }),
    reply: null,
    status: 204,
    async handle({ params: { name }, principal }, { tokens }) {
      if (await tokens.revoke(name, principal)) return null;
      throw new HttpProblem("not-found", `There is no token called ${name}.`);
    },
  }),
];

/** A token never gets more scopes than its creator has. */
function scopesFor(asked: Scopes | undefined, { scopes = "*" }: Principal): Scopes {
  if (asked === undefined || scopes === "*") return asked ?? scopes;
  const beyond = asked === "*" ? ["*"] : asked.filter((scope) => !scopes.includes(scope));
  if (beyond.length === 0) return asked;
  throw new MandateError(
    "refused-by-policy",
    `You have the scopes ${scopes.join(", ") || "none"}, so you cannot grant ${beyond.join(", ")}.`,
  );
}
