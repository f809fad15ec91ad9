import { z } from "zod";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { HttpProblem } from "../problem.ts";
import { defineRoute, type Route } from "../route.ts";
import { createdToken, createTokenBody, tokenList, tokenName } from "../shapes/token-shapes.ts";

const tag = "tokens";

type Scopes = "*" | readonly string[];

export const tokenRoutes: readonly Route[] = [
  defineRoute({
    id: "listTokens",
    method: "GET",
    path: "/tokens",
    summary: "Lists the named tokens; none of them can be seen.",
    tag,
    role: "admin",
    reply: tokenList,
    handle: async (_request, { tokens }) => ({ items: await tokens.list() }),
  }),
  defineRoute({
    id: "createToken",
    method: "POST",
    path: "/tokens",
    summary: "Creates a named token with a role and scopes, and gives it once.",
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
    summary: "Revokes a token: it is refused from now on.",
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

/** Nobody hands on more than they hold. */
function scopesFor(asked: Scopes | undefined, { scopes = "*" }: Principal): Scopes {
  if (asked === undefined || scopes === "*") return asked ?? scopes;
  const beyond = asked === "*" ? ["*"] : asked.filter((scope) => !scopes.includes(scope));
  if (beyond.length === 0) return asked;
  throw new MandateError(
    "refused-by-policy",
    `You hold the scopes ${scopes.join(", ") || "none"}, and cannot give ${beyond.join(", ")}.`,
  );
}
