/**
 * The program that listens inside a sandbox. It accepts connections on the loopback of the sandbox and
 * passes each on as a stream of one HTTP/2 connection, which Mandate opened before the sandbox began.
 * It decides nothing: programs of the sandbox may take its place. It stands alone, because it is the
 * only file of Mandate that a sandbox shows.
 */
import { closeSync, writeSync } from "node:fs";
import { connect } from "node:http2";
import { createServer, Socket } from "node:net";

const [descriptor, whenReady, ...ports] = process.argv.slice(2).map(Number);

const outside = new Socket({ fd: descriptor ?? -1, readable: true, writable: true });
const session = connect("http://outside", {
  createConnection: () => outside,
  // A sandbox may have as many streams as it wants; Mandate has its own limit.
  settings: { initialWindowSize: 1024 * 1024 },
});
session.on("error", end);
session.on("close", end);
// Only its connections keep this process running.
outside.on("close", end);

let left = ports.length;
for (const port of ports) {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const stream = session.request({ ":method": "CONNECT", ":authority": `outside:${port}` });
    for (const side of [socket, stream]) {
      side.on("error", () => {
        socket.destroy();
        stream.close();
      });
    }
    stream.on("close", () => socket.destroy());
    socket.pipe(stream);
    stream.pipe(socket);
  });
  server.on("error", end);
  server.listen(port, "127.0.0.1", () => {
    left -= 1;
    if (left > 0) return;
    // The command begins when this is closed.
    writeSync(whenReady ?? -1, "ready");
    closeSync(whenReady ?? -1);
  });
}

function end(): void {
  process.exit(1);
}
