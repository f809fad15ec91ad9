import { z } from "zod";
import type { Clock } from "../../../ports/clock.ts";
import type { Guard } from "../guard.ts";
import { fieldErrors, HttpProblem, invalidRequest } from "../problem.ts";
import { checkForm, parseBody, readBody } from "../read-body.ts";
import { mostSealedCharacters } from "./page-seal.ts";
import { type PageSessions, pageSessionMs } from "./page-sessions.ts";

export const pageSessionPath = "/api/v1/page-session";

export const pageSessionBody = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(mostSealedCharacters)
    .meta({ description: "From the fragment of the page's address." }),
});

const mostBodyBytes = 4096;

/**
 * `POST` begins a page's session with the code it was opened with, `DELETE` ends it. The one place
 * that is reached without a token: it takes nothing but a code that works once, from our own page.
 */
export async function answerPageSession(
  request: Request,
  address: string,
  { guard, pages, cookieName, clock }: PageSessionParts,
): Promise<Response> {
  guard.checkPage(request);
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure(request) ? "; Secure" : ""}`;
  if (request.method === "DELETE") {
    const forget = `${cookieName}=; Max-Age=0; ${attributes}`;
    try {
      await pages.end(guard.sessionOf(request) ?? "");
    } catch {
      throw new HttpProblem(
        "unavailable",
        "This browser is signed out. The other servers could not be told, since the database does not answer: whoever copied the cookie is let in there until the session is over.",
        { headers: { "set-cookie": forget } },
      );
    }
    return noContent(forget);
  }
  if (request.method !== "POST") {
    throw new HttpProblem("method-not-allowed", "This takes POST and DELETE.", {
      headers: { allow: "POST, DELETE" },
    });
  }
  checkForm(request);
  const body = parseBody(await readBody(request, mostBodyBytes, clock));
  const parsed = pageSessionBody.safeParse(body);
  if (!parsed.success) throw invalidRequest(fieldErrors("body", parsed.error));
  const session = await pages.exchange(parsed.data.code);
  if (session === undefined) {
    guard.refuseGuesser(address);
    throw new HttpProblem(
      "unauthenticated",
      "The code was used, or is too old. Open the page anew.",
      {
        headers: { "www-authenticate": 'Bearer realm="mandate"' },
      },
    );
  }
  const seconds = Math.floor(pageSessionMs / 1000);
  return noContent(`${cookieName}=${session}; Max-Age=${seconds}; ${attributes}`);
}

export interface PageSessionParts {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly pages: PageSessions;
  readonly cookieName: string;
}

/** Behind a proxy that speaks TLS; on this machine itself there is none. */
function isSecure(request: Request): boolean {
  return request.headers.get("origin")?.startsWith("https://") === true;
}

function noContent(cookie: string): Response {
  return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
}
