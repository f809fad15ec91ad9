import { once } from "node:events";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { WireProtocol, WireRoute } from "../../models/gateway/wire-protocol.ts";
import type { ProviderSettings } from "../../models/resolve-provider.ts";

/** A provider that sends nothing for so long is gone: the connection is cut. */
const silenceMs = 600_000;

/** More than the longest answer of any model. */
export const longestAnswer = 64 * 1024 * 1024;

/** The headers of a provider's answer that a program gets. */
const passedOn =
  /^(?:retry-after|retry-after-ms|request-id|x-request-id|openai-processing-ms|x-should-retry|(?:x|anthropic)-ratelimit-[\w-]+)$/;

export interface UpstreamCall {
  readonly settings: ProviderSettings;
  readonly protocol: WireProtocol;
  readonly route: WireRoute;
  readonly model: string;
  readonly isStreaming: boolean;
  readonly body: string;
  readonly header: (name: string) => string | undefined;
  readonly signal: AbortSignal;
}

/** The connections to providers. The real keys are added here, and nowhere else. */
export class Upstream {
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #https = new HttpsAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  /** Sends a request to the address of the configuration. Redirects are not followed. */
  async send(call: UpstreamCall): Promise<IncomingMessage> {
    const { body, header, isStreaming, model, protocol, route, settings, signal } = call;
    const address = new URL(
      settings.baseUrl.replace(/\/+$/, "") + protocol.path(route, model, isStreaming),
    );
    const isSecure = address.protocol === "https:";
    const sent = (isSecure ? requestHttps : requestHttp)(address, {
      method: "POST",
      agent: isSecure ? this.#https : this.#http,
      timeout: silenceMs,
      signal,
      headers: {
        accept: isStreaming ? "text/event-stream" : "application/json",
        // An answer that is compressed cannot be read while it passes.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "mandate-gateway",
        ...protocol.headers(settings, header),
        ...settings.headers,
      },
    });
    sent.on("timeout", () =>
      sent.destroy(new Error(`The provider was silent for ${silenceMs} ms.`)),
    );
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return answer;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

export function headersFor({ headers }: IncomingMessage): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (passedOn.test(name) && typeof value === "string") kept[name] = value;
  }
  return kept;
}

/** All of an answer. Throws when it is longer than any answer of a model. */
export async function readWhole(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > longestAnswer) throw new Error("The provider's answer is too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
