/** A server in front of the real one that fills every text of every reply and event with what means harm. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostileStrings } from "./hostile-strings.test-support.ts";

export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** Nothing is being asked, streams aside. */
  readonly isIdle: boolean;
  /** How many replies were filled. */
  readonly filled: number;
  /** Which strings each field was filled with. */
  readonly given: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Ids, hashes, times and words of the protocol: the product makes them, and no agent or file says them. */
const kept =
  /(?:^|_)(?:id|ids|hash|seq)$|(?:Id|Ids|Hash)$|^(?:type|kind|state|status|finalStatus|final_status|outcome|closeReason|close_reason|code|severity|mode|role|on|effect|isolation|nextCursor|cursor|key|change|scope|day|by|version|integration|resumes|taken_from|delegation|why|format|action|enforcement|document|worker|from|to|at|callId|depends_on|exposure|network)$/;
const isId = /^r?[0-9a-f]{6}(?:[0-9a-f]{2})?$|^[0-9a-f]{64}$/;

export async function openHostileServer(target: string): Promise<HostileServer> {
  const given = new Map<string, Set<string>>();
  const turns = new Map<string, number>();
  let open = 0;
  let filled = 0;
  // Each field begins elsewhere in the list, and has another string each time.
  const next = (field: string): string => {
    const turn = turns.get(field) ?? turns.size * 7;
    turns.set(field, turn + 1);
    const text = hostileStrings[turn % hostileStrings.length] ?? "";
    given.set(field, (given.get(field) ?? new Set()).add(text));
    if (!/\.(?:diff|patch)$/.test(field)) return text;
    return `diff --git a/${text} b/${text}\n--- a/${text}\n+++ b/${text}\n@@ -1 +1 @@\n-${text}\n+${text}`;
  };
  const fill = (value: unknown, key: string, field: string): unknown => {
    if (typeof value === "string") {
      return kept.test(key) || isId.test(value) ? value : next(field);
    }
    if (Array.isArray(value)) return value.map((one) => fill(one, key, `${field}[]`));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, fill(one, name, `${field}.${name}`)]),
    );
  };
  const fillText = (text: string, place: string): string =>
    JSON.stringify(fill(JSON.parse(text), "", place));

  const server = createServer((asked, answer) => {
    const address = asked.url ?? "/";
    const isStream = address.startsWith("/api/v1/events");
    if (!isStream) open += 1;
    answer.on("close", () => {
      if (!isStream) open -= 1;
    });
    pass(asked, answer, (reply) => {
      const place = placeOf(asked.method, address);
      const type = reply.headers["content-type"] ?? "";
      const isJson = type.includes("json") && place !== undefined;
      const { "content-length": _, ...headers } = reply.headers;
      answer.writeHead(reply.statusCode ?? 500, isJson || isStream ? headers : reply.headers);
      if (!isJson && !isStream) {
        reply.pipe(answer);
        return;
      }
      if (isJson) filled += 1;
      let rest = "";
      reply.setEncoding("utf8");
      reply.on("data", (text: string) => {
        rest += text;
        if (!isStream) return;
        const frames = rest.split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) {
          const [, name = "event"] = /^event: (.*)$/m.exec(frame) ?? [];
          answer.write(
            `${frame.replace(/^data: (.*)$/m, (_line, data) => `data: ${fillText(data, name)}`)}\n\n`,
          );
        }
      });
      reply.on("end", () => answer.end(isJson && rest !== "" ? fillText(rest, place) : ""));
    });
  });

  function pass(
    asked: IncomingMessage,
    answer: ServerResponse,
    hear: (reply: IncomingMessage) => void,
  ): void {
    const { host, origin, ...headers } = asked.headers;
    const to = new URL(asked.url ?? "/", target);
    const passed = request(
      to,
      {
        method: asked.method,
        headers: { ...headers, host: to.host, ...(origin !== undefined && { origin: to.origin }) },
      },
      hear,
    );
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    given,
    get isIdle() {
      return open === 0;
    },
    get filled() {
      return filled;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The operation, as a name for its fields; undefined: its reply is no data. */
function placeOf(method: string | undefined, address: string): string | undefined {
  const [, path = ""] = /^\/api\/v1(\/[^?]*)/.exec(address) ?? [];
  if (path === "" || method !== "GET" || path.startsWith("/page-session")) return undefined;
  return path.replaceAll(/[0-9a-f]{64}|\br?[0-9a-f]{6,8}\b/g, ":id");
}
