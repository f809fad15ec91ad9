import { connect, createServer, type Server, type Socket } from "node:net";
import { systemClock } from "../ports/clock.ts";

/** A way to a server that can be cut, stalled and slowed down. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** The URL by way of the proxy. */
  through(url: string): string;
  /** Ends every connection, and refuses new ones until `mend`. */
  cut(): void;
  /** Ends every connection once; new ones are taken. */
  drop(): void;
  /** Nothing passes in either direction, and nobody is told, until `mend`. */
  stall(): void;
  /** Everything passes so much later. */
  delay(ms: number): void;
  mend(): void;
  /**
   * Called with what clients send, before it is passed on. "drop-reply" passes it on and cuts the
   * connection before anything comes back; "cut" cuts it before it arrives.
   */
  onRequest(look: ((bytes: Buffer) => "pass" | "cut" | "drop-reply") | undefined): void;
  readonly connections: number;
  /** How many connections were refused after a `cut`. */
  readonly refusals: number;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  isMute: boolean;
}

export async function startTcpProxy(target: { host?: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let isCut = false;
  let isStalled = false;
  let delayMs = 0;
  let refusals = 0;
  let look: ((bytes: Buffer) => "pass" | "cut" | "drop-reply") | undefined;

  const end = (pair: Pair): void => {
    pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  };
  const pass = (to: Socket, bytes: Buffer): void => {
    const write = (): void => {
      if (!to.destroyed) to.write(bytes);
    };
    if (delayMs > 0) systemClock.after(delayMs, write);
    else write();
  };
  const server: Server = createServer((client) => {
    if (isCut) {
      refusals += 1;
      client.destroy();
      return;
    }
    const there = connect(target.port, target.host ?? "127.0.0.1");
    const pair: Pair = { client, server: there, isMute: false };
    pairs.add(pair);
    if (isStalled) {
      client.pause();
      there.pause();
    }
    client.on("data", (bytes) => {
      const decision = look?.(bytes) ?? "pass";
      if (decision === "cut") return end(pair);
      if (decision === "drop-reply") pair.isMute = true;
      pass(there, bytes);
    });
    there.on("data", (bytes) => {
      if (pair.isMute) end(pair);
      else pass(client, bytes);
    });
    for (const socket of [client, there]) {
      socket.on("error", () => end(pair));
      socket.on("close", () => end(pair));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const { port } = address;
  const endAll = (): void => {
    for (const pair of [...pairs]) end(pair);
  };
  return {
    port,
    through(url) {
      const changed = new URL(url);
      changed.host = `127.0.0.1:${port}`;
      return changed.href;
    },
    cut() {
      isCut = true;
      endAll();
    },
    drop: endAll,
    stall() {
      isStalled = true;
      for (const { client, server: there } of pairs) {
        client.pause();
        there.pause();
      }
    },
    delay(ms) {
      delayMs = ms;
    },
    mend() {
      isCut = false;
      isStalled = false;
      delayMs = 0;
      for (const { client, server: there } of pairs) {
        client.resume();
        there.resume();
      }
    },
    onRequest(given) {
      look = given;
    },
    get connections() {
      return pairs.size;
    },
    get refusals() {
      return refusals;
    },
    async [Symbol.asyncDispose]() {
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
