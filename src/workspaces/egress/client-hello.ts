/** What the first bytes of a connection are, as far as they have come. */
export type FirstBytes =
  | { readonly kind: "incomplete" }
  | { readonly kind: "other" }
  /** The name that the client asks for; null: it asks for none. */
  | { readonly kind: "tls"; readonly serverName: string | null };

const [handshake, clientHello, serverNameExtension, hostName] = [22, 1, 0, 0];

/** A first message may span records; longer ones are refused as something else. */
const longestHello = 64 * 1024;

/**
 * Reads the server name of a TLS connection before any byte of it is passed on. Without that a tunnel
 * to a granted host could ask the same machine for another site.
 */
export function readClientHello(bytes: Buffer): FirstBytes {
  if (bytes.length === 0) return incomplete;
  if (bytes[0] !== handshake) return other;
  const message = joinRecords(bytes);
  if (message === undefined) return other;
  if (message.length < 4) return incompleteUpTo(bytes);
  if (message[0] !== clientHello) return other;
  const length = message.readUIntBE(1, 3);
  if (message.length < 4 + length) return incompleteUpTo(bytes);
  try {
    return { kind: "tls", serverName: serverNameOf(message.subarray(4, 4 + length)) };
  } catch {
    // A length leads beyond the end.
    return other;
  }
}

const incomplete: FirstBytes = { kind: "incomplete" };
const other: FirstBytes = { kind: "other" };

function incompleteUpTo(bytes: Buffer): FirstBytes {
  return bytes.length > longestHello ? other : incomplete;
}

/** The handshake message in the records so far; undefined: a record is not part of a handshake. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshake) return undefined;
    if (at + 2 <= bytes.length && bytes[at + 1] !== 3) return undefined;
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

function serverNameOf(hello: Buffer): string | null {
  // Version and random; then session, cipher suites and compressions, each with its length.
  let at = 34;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at >= hello.length) return null;
  const end = at + 2 + hello.readUInt16BE(at);
  let found: string | null = null;
  for (at += 2; at < end; ) {
    const kind = hello.readUInt16BE(at);
    const length = hello.readUInt16BE(at + 2);
    if (kind === serverNameExtension) {
      if (found !== null || hello.readUInt8(at + 6) !== hostName) throw new RangeError("two names");
      const nameLength = hello.readUInt16BE(at + 7);
      if (nameLength + 5 !== length) throw new RangeError("more than one name");
      found = hello.toString("latin1", at + 9, at + 9 + nameLength).toLowerCase();
    }
    at += 4 + length;
  }
  return found;
}
