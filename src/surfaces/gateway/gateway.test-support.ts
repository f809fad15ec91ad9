/** For tests: a gateway with a provider that remembers what it was asked. */
import {
  type GatewayOptions,
  openGateway,
  type SessionGateway,
} from "../../application/gateway/gateway.ts";
import { defaultConfig } from "../../control/config.ts";
import { systemClock } from "../../ports/clock.ts";
import { openEngine, type TestEngine } from "../../testing/engine-fixture.ts";
import { environmentFor, MockProvider } from "../../testing/mock-provider.test-support.ts";
import { type GatewayServer, startGatewayServer } from "./gateway-server.ts";

export interface GatewayScene extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly provider: MockProvider;
  readonly server: GatewayServer;
  readonly gateway: SessionGateway;
  readonly token: string;
  readonly url: string;
  /** What the server said of itself. */
  readonly log: readonly string[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  open(options?: Partial<GatewayOptions>): Promise<{ gateway: SessionGateway; token: string }>;
}

/** A gateway whose models are named, unless the options say otherwise. */
export async function openScene(options: Partial<GatewayOptions> = {}): Promise<GatewayScene> {
  const provider = new MockProvider();
  await provider.start();
  const environment = environmentFor(provider);
  const engine = await openEngine({ environment, config: { models: defaultConfig.models } });
  const log: string[] = [];
  const server = await startGatewayServer(systemClock, (line) => log.push(line));
  const gateways: SessionGateway[] = [];
  const open = async (more: Partial<GatewayOptions> = {}) => {
    const models = [
      "anthropic/claude-sonnet-4-5",
      "openai/gpt-4.1",
      "openai-chat/gpt-4.1",
      "google/gemini-2.5-flash",
    ];
    const asked = {
      client: "program",
      environment,
      models,
      maxTokens: 200_000,
      ...options,
      ...more,
    };
    const gateway = await openGateway(engine, asked);
    gateways.push(gateway);
    return { gateway, token: server.issue(gateway) };
  };
  const { gateway, token } = await open();
  return {
    ...{ engine, provider, server, gateway, token, log, open },
    url: server.url,
    post: (path, body, headers = {}) =>
      fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": token, ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      await server.close();
      for (const one of gateways) {
        await one.session.end({ said: "The test has ended." });
        one.close();
      }
      provider.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}
