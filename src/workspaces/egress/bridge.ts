import { performServerHandshake, type ServerHttp2Stream } from "node:http2";
import { connect } from "node:net";
import { type Duplex, duplexPair } from "node:stream";

/** Where a connection of a sandbox arrives: it accepts the connection, or destroys it. */
export type Door = (connection: Duplex) => void;

/** The doors of a sandbox, by the port on which its programs reach each on 127.0.0.1. */
export type Doors = ReadonlyMap<number, Door>;

/** Connections of one sandbox at the same time. */
const mostConnections = 256;

/**
 * Opens the doors of one sandbox over the socket that its relay holds. Programs of the sandbox may
 * speak to this end as the relay does: they reach the same doors and nothing else.
 */
export function openBridge(socket: Duplex, doors: Doors): void {
  const session = performServerHandshake(socket, {
    maxSessionMemory: 64,
    maxSessionInvalidFrames: 16,
    maxSessionRejectedStreams: 16,
    maxHeaderListPairs: 8,
    settings: { maxConcurrentStreams: mostConnections, maxHeaderListSize: 1024 },
  });
  session.on("error", () => session.destroy());
  session.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => stream.close());
    const port = /^outside:(\d{1,5})$/.exec(String(headers[":authority"]))?.[1];
    const door = doors.get(Number(port ?? -1));
    if (door === undefined || headers[":method"] !== "CONNECT") {
      stream.close();
      return;
    }
    stream.respond({ ":status": 200 });
    // Bytes alone are written to an HTTP/2 stream: Node garbles texts that come together with them.
    const [inside, outside] = duplexPair({ allowHalfOpen: true });
    joinStreams(stream, outside);
    door(inside);
  });
  socket.on("close", () => session.destroy());
}

/**
 * A door to a server on the loopback of this machine, such as the model gateway.
 * @public
 * @example new Map([[8080, doorToLoopback(gateway.port)]])
 */
export function doorToLoopback(port: number): Door {
  return (connection) => joinStreams(connection, connect({ host: "127.0.0.1", port }));
}

/** Passes bytes both ways until both sides have ended; an error ends both. */
export function joinStreams(left: Duplex, right: Duplex): void {
  for (const [one, another] of [
    [left, right],
    [right, left],
  ] as const) {
    one.on("error", () => another.destroy());
    one.on("close", () => {
      // After its end the rest is still passed on; without one, nothing more can come.
      if (!one.readableEnded) another.destroy();
    });
    one.pipe(another);
  }
}
