import { z } from "zod";
import type { Clock } from "../../../ports/clock.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { type Caller, type Guard, provenanceOf } from "../guard.ts";
import { fieldErrors, HttpProblem, invalidRequest } from "../problem.ts";
import { checkForm, parseBody, readBody } from "../read-body.ts";
import { mostSealedCharacters, type PageSessions, pageSessionMs } from "./page-sessions.ts";

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

const variable = "MANDATE_PAGE_KEY";
const keyBytes = 32;

/**
 * What servers behind one address seal the sessions of pages with; undefined where none was given,
 * and then each process takes a key of its own. What is given and is no key is refused: a server
 * that took another one would seem to work, and sign everybody out at every second request.
 */
export function readPageKey(
  environment: Readonly<Record<string, string | undefined>>,
): Buffer | undefined {
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return undefined;
  const key = Buffer.from(text, "base64");
  // Decoding skips what is no base64: only what it would be written as is meant.
  const isExact = key.toString("base64") === text;
  if (isExact && key.length === keyBytes) return key;
  const what = isExact ? `It has ${key.length} bytes.` : "It is not base64.";
  throw new MandateError(
    "config-invalid",
    `${variable} takes ${keyBytes} random bytes in base64. ${what} Make one with: openssl rand -base64 32`,
  );
}
