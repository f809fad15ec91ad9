import type { IncomingHttpHeaders } from "node:http";
import { type Clock, timeoutSignal } from "../../ports/clock.ts";
import { FetchFailure } from "./fetch-failure.ts";
import { followRedirect } from "./follow-redirect.ts";
import { isShownType, mediaTypeOf } from "./media-type.ts";
import { readBody } from "./read-body.ts";
import { type Lookup, resolveHost } from "./resolve-host.ts";
import { type GetLimits, sendGet } from "./send-get.ts";

export interface PageLimits extends GetLimits {
  /** From the first look-up to the last byte, redirects included. */
  readonly totalMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

export interface PageRequest {
  readonly url: URL;
  readonly lookup: Lookup;
  readonly allowPrivate: ReadonlySet<string>;
  readonly limits: PageLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Throws when policy does not let a redirect lead there. */
  readonly permit: (next: URL) => void;
}

export interface Page {
  /** Where it was found in the end. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly isCut: boolean;
}

/** Follows redirects, each as strictly checked as the first address. */
export async function getPage(request: PageRequest): Promise<Page> {
  const { clock, limits, signal } = request;
  const timeout = timeoutSignal(clock, limits.totalMs);
  try {
    return await follow(request, AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new FetchFailure(
      `Fetching took more than ${limits.totalMs / 1000} s, so it was stopped.`,
    );
  }
}

async function follow(request: PageRequest, signal: AbortSignal): Promise<Page> {
  const { lookup, allowPrivate, clock, limits } = request;
  let { url } = request;
  for (let redirects = 0; redirects <= limits.maxRedirects; redirects++) {
    const addresses = await resolveHost(url, lookup, allowPrivate, signal);
    const response = await sendGet(url, addresses, limits, signal, clock);
    const { statusCode: status = 0, headers } = response;
    try {
      const next = followRedirect(url, status, headers.location);
      if (next === undefined) {
        const type = mediaTypeOf(headers["content-type"]);
        const isRead = isShownType(type);
        const body = isRead ? await readBody(response, limits.maxBytes) : nothing;
        return { url, status, headers, body: body.bytes, isCut: body.isCut };
      }
      request.permit(next);
      url = next;
    } catch (error) {
      throw describeBroken(error, url);
    } finally {
      response.destroy();
    }
  }
  throw new FetchFailure(
    `The address redirects more than ${limits.maxRedirects} times; it was not followed further ` +
      `than ${url.href}.`,
  );
}

const nothing = { bytes: Buffer.alloc(0), isCut: false };

/** Errors of the connection and of unpacking, told by their code alone. */
function describeBroken(error: unknown, url: URL): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (typeof code !== "string" || !/^(?:Z_|E|ERR_|HPE_)/.test(code)) return error;
  return new FetchFailure(`The reply of ${url.host} broke off or is damaged (${code}).`, {
    cause: error,
  });
}
