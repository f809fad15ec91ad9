import { z } from "zod";
import type { Clock } from "../../../ports/clock.ts";
import { type Caller, type Guard, provenanceOf } from "../guard.ts";
import { fieldErrors, HttpProblem, invalidRequest } from "../problem.ts";
import { checkForm, parseBody, readBody } from "../read-body.ts";
import { mostSealedCharacters } from "./page-seal.ts";
import { type CodeRefusal, type PageSessions, pageSessionMs } from "./page-sessions.ts";

export const pageSessionPath = "/api/v1/page-session";

export const pageSessionBody = z.union([
  z.strictObject({
    code: z
      .string()
      .min(1)
      .max(mostSealedCharacters)
      .meta({ description: "From the fragment of the dashboard's address, or typed." }),
  }),
  z.strictObject({
    token: z.string().min(1).max(512).meta({ description: "An access token." }),
  }),
]);

const mostBodyBytes = 4096;

const refusals: Readonly<Record<CodeRefusal, string>> = {
  expired: "has expired.",
  incomplete: "is not complete.",
  "other-server": "belongs to another server, or to one that was stopped.",
  tries: "was tried too often.",
  used: "was already used.",
  wrong: "is not valid.",
};

/**
 * `POST` exchanges a sign-in code or a token for a page session, `DELETE` ends the session, `GET`
 * says how to get a new link, and proves to the command line which server answers. The only API path
 * without a token in its header, and only for our own page.
 */
export async function answerPageSession(
  request: Request,
  address: string,
  { guard, pages, cookieName, clock, linkHint = usualLinkHint, prove }: PageSessionParts,
): Promise<Response> {
  guard.checkPage(request);
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure(request) ? "; Secure" : ""}`;
  const isLocal = isFromHere(request, address);
  // The hint may name folders of this machine.
  const next = isLocal ? linkHint : usualLinkHint;
  if (request.method === "GET") {
    const nonce = isLocal ? request.headers.get(challengeHeader) : null;
    return Response.json({ next, ...(nonce !== null && { proof: prove(nonce) }) });
  }
  if (request.method === "DELETE") {
    const forget = `${cookieName}=; Max-Age=0; ${attributes}`;
    try {
      await pages.end(guard.sessionOf(request) ?? "");
    } catch {
      throw new HttpProblem(
        "unavailable",
        "This browser is signed out. The database does not answer, so other servers still accept a copy of the cookie until the session expires.",
        { headers: { "set-cookie": forget } },
      );
    }
    return new Response(null, { status: 204, headers: { "set-cookie": forget } });
  }
  if (request.method !== "POST") {
    throw new HttpProblem("method-not-allowed", "Use GET, POST or DELETE.", {
      headers: { allow: "GET, POST, DELETE" },
    });
  }
  checkForm(request);
  const body = parseBody(await readBody(request, mostBodyBytes, clock));
  const parsed = pageSessionBody.safeParse(body);
  if (!parsed.success) throw invalidRequest(fieldErrors("body", parsed.error));
  const begun = await beginSession(parsed.data, { isLocal, guard, pages });
  if ("problem" in begun) {
    guard.refuseGuesser(address);
    throw new HttpProblem("unauthenticated", begun.problem, {
      headers: { "www-authenticate": 'Bearer realm="mandate"' },
    });
  }
  const { path, session } = begun;
  const seconds = Math.floor(pageSessionMs / 1000);
  const cookie = `${cookieName}=${session}; Max-Age=${seconds}; ${attributes}`;
  return Response.json({ path }, { headers: { "set-cookie": cookie } });
}

async function beginSession(
  body: z.infer<typeof pageSessionBody>,
  { guard, isLocal, pages }: Pick<PageSessionParts, "guard" | "pages"> & { isLocal: boolean },
): Promise<{ readonly path: string; readonly session: string } | { readonly problem: string }> {
  if ("token" in body) {
    const isValid = await guard.isValidToken(body.token);
    if (!isValid) return { problem: "This token is unknown, expired or revoked." };
    return { path: "/", session: pages.begin(body.token) };
  }
  const exchanged = await pages.exchange(body.code, { isLocal });
  if (!("refused" in exchanged)) return exchanged;
  const { isTyped, refused } = exchanged;
  return { problem: `This ${isTyped ? "code" : "link"} ${refusals[refused]}` };
}

const challengeHeader = "x-mandate-challenge";
const usualLinkHint = "mandate serve --link";
const loopbackAddress = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/;
const forwarding = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/** The connection begins on this machine, and no header says that a proxy passed it on. */
function isFromHere({ headers }: Request, address: string): boolean {
  return loopbackAddress.test(address) && !forwarding.some((name) => headers.has(name));
}

export interface PageSessionParts {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly pages: PageSessions;
  readonly cookieName: string;
  /** The command that prints a new link, as the person can type it. */
  readonly linkHint?: string | undefined;
  /** Answers a challenge for the address and port that the connection reached. */
  readonly prove: (nonce: string) => string;
}

/** True behind a proxy with TLS; the server itself speaks plain HTTP. */
function isSecure(request: Request): boolean {
  return request.headers.get("origin")?.startsWith("https://") === true;
}

export const pageCodePath = "/api/v1/page-code";

/**
 * Creates an address that opens the dashboard, for a caller with a token. The code is in the
 * fragment, which browsers do not send to servers, so it appears in no log.
 */
export async function createPageCode(
  request: Request,
  { session, token }: Caller,
  { pages, clock }: { readonly pages: PageSessions; readonly clock: Clock },
): Promise<Response> {
  await readBody(request, 0, clock);
  // Otherwise a page session could renew itself without end.
  if (session !== undefined) {
    throw new HttpProblem(
      "forbidden",
      "A page session cannot create a sign-in code. Send the token itself.",
    );
  }
  const { code, validFor } = await pages.createLink(token);
  const short = await pages.createShortCode(token);
  return Response.json(
    {
      ...{ code, url: pageUrl(request, code), validForMs: validFor },
      shortCode: { code: short.code, validForMs: short.validFor },
    },
    { status: 201 },
  );
}

/** Uses the host name of the request, which was checked: it may be that of a load balancer. */
function pageUrl(request: Request, code: string): string {
  const isSecure = request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${provenanceOf(request).host}/#code=${code}`;
}
