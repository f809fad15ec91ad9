import type { Caller } from "./guard.ts";
import type { PageSessions } from "./page-sessions.ts";
import { HttpProblem } from "./problem.ts";
import { readBody } from "./read-body.ts";

export const pageCodePath = "/api/v1/page-code";

/**
 * Gives whoever has a token an address that opens the page in a browser, once. The code stands in
 * the fragment, which no browser sends to a server or writes into a log of one.
 */
export async function createPageCode(
  request: Request,
  { session, token }: Caller,
  { pages, origin }: { readonly pages: PageSessions; readonly origin: string },
): Promise<Response> {
  await readBody(request, 0);
  // Otherwise a page could go on for ever by opening the next one.
  if (session !== undefined) {
    throw new HttpProblem("forbidden", "A page cannot open another one. Present the token itself.");
  }
  const { code, validFor } = pages.createCode(token);
  return Response.json({ code, url: pageUrl(origin, code), validForMs: validFor }, { status: 201 });
}

function pageUrl(origin: string, code: string): string {
  return `${origin}/#code=${code}`;
}
