import type { Clock } from "../../../ports/clock.ts";
import { provenanceOf } from "../check-provenance.ts";
import type { Caller } from "../guard.ts";
import { HttpProblem } from "../problem.ts";
import { readBody } from "../read-body.ts";
import type { PageSessions } from "./page-sessions.ts";

export const pageCodePath = "/api/v1/page-code";

/**
 * Gives whoever has a token an address that opens the page in a browser, once. The code stands in
 * the fragment, which no browser sends to a server or writes into a log of one.
 */
export async function createPageCode(
  request: Request,
  { session, token }: Caller,
  { pages, clock }: { readonly pages: PageSessions; readonly clock: Clock },
): Promise<Response> {
  await readBody(request, 0, clock);
  // Otherwise a page could go on for ever by opening the next one.
  if (session !== undefined) {
    throw new HttpProblem("forbidden", "A page cannot open another one. Present the token itself.");
  }
  const { code, validFor } = pages.createCode(token);
  return Response.json(
    { code, url: pageUrl(request, code), validForMs: validFor },
    { status: 201 },
  );
}

/** Under the name by which the server was asked, which it answers to: it may be that of a balancer. */
function pageUrl(request: Request, code: string): string {
  const isSecure = request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${provenanceOf(request).host}/#code=${code}`;
}
