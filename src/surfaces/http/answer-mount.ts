import type { Principal } from "../../control/records/principal.ts";
import type { Clock } from "../../ports/clock.ts";
import { requireRole } from "./answer-route.ts";
import type { MountContext } from "./mount.ts";
import type { MountPoint } from "./mount-points.ts";
import { readBody } from "./read-body.ts";

/** Hands a request over to what is mounted, with a body that is complete and not too large. */
export async function answerMount(
  point: MountPoint,
  request: Request,
  principal: Principal,
  context: MountContext & { readonly clock: Clock },
): Promise<Response> {
  requireRole(point, principal);
  const { handle, mostBodyBytes } = point;
  return handle(await withLimitedBody(request, mostBodyBytes, context.clock), principal, context);
}

async function withLimitedBody(
  request: Request,
  mostBytes: number,
  clock: Clock,
): Promise<Request> {
  const { method, url, headers, signal } = request;
  if (method === "GET") return request;
  const body = await readBody(request, mostBytes, clock);
  return new Request(url, { method, headers, signal, ...(body.length > 0 && { body }) });
}

/** Where a stream shares its address with a list. */
export function acceptsStream({ headers }: Request): boolean {
  return /(^|[ ,])text\/event-stream *($|[,;])/i.test(headers.get("accept") ?? "");
}
