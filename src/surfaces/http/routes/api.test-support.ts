import { join } from "node:path";
import { expect } from "vitest";
import {
  AccessTokens,
  installationToken,
  type NewAccessToken,
} from "../../../control/access/access-tokens.ts";
import type { Role } from "../../../control/records/principal.ts";
import {
  type EngineOptions,
  openEngine,
  type TestEngine,
} from "../../../testing/engine-fixture.ts";
import { MandateApiError, MandateClient } from "../../client/mandate-client.ts";
import { createApp } from "../app.ts";
import type { Host, Route } from "../route.ts";
import { routes } from "./all-routes.ts";

export interface TestApi extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly host: Host;
  /** The installation's own: an admin. */
  readonly client: MandateClient;
  as(role: Role, name?: string, more?: Partial<NewAccessToken>): Promise<MandateClient>;
  fetch(target: string, request?: RequestInit): Promise<Response>;
}

const origin = "http://127.0.0.1:4747";

/** The whole API without a socket, spoken to by the typed client. */
export async function openApi(
  options: EngineOptions,
  serves: (workspace: string) => readonly string[] = (workspace) => [workspace],
): Promise<TestApi> {
  const engine = await openEngine({ application: "http", ...options });
  const file = join(engine.home, "tokens", "local");
  const tokens = new AccessTokens(engine.store, file);
  const workspaces = serves(engine.workspace);
  const host: Host = { runtime: engine, tokens, workspaces, startedAt: Date.now(), origin };
  const app = createApp(host, {
    routes: routes.map(heldToItsShape),
    checkReplies: true,
    rate: { perSecond: 1e6, burst: 1e6 },
    log: (line) => process.stderr.write(`${line}\n`),
  });
  const send = async (address: string | URL | Request, request?: RequestInit): Promise<Response> =>
    app.request(String(address), request);
  const clientOf = (token: string) => new MandateClient({ url: origin, token, fetch: send });
  return {
    engine,
    host,
    client: clientOf(installationToken(file)),
    async as(role, name = role, more) {
      const by = { id: "test", role: "admin" } as const;
      const { token } = await tokens.create({ name, role, ...more }, by);
      return clientOf(token);
    },
    fetch: (target, request = {}) =>
      send(`${origin}${target}`, {
        ...request,
        headers: { authorization: `Bearer ${installationToken(file)}`, ...request.headers },
      }),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

/** What a reply has and its schema does not name would be told without anybody having decided it. */
function heldToItsShape(route: Route): Route {
  return {
    ...route,
    async handle(request, host) {
      const value = await route.handle(request, host);
      const sent: unknown = JSON.parse(JSON.stringify(value));
      if (route.reply !== null) expect(route.reply.parse(sent), route.id).toEqual(sent);
      return value;
    },
  };
}

/** The code that a call is refused with. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof MandateApiError) return `${error.status} ${error.code}`;
    throw error;
  }
  return "nothing was refused";
}
