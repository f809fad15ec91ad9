/** Text by the mark it begins with, by what its sender said, or by what it declares inside. */
export function decodeText(bytes: Uint8Array, charset?: string): string {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return decode(bytes, marked);
  const named = charset ?? declaredCharset(bytes);
  if (named !== undefined) return decode(bytes, named);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The usual one among those that name none. Every byte is a character in it.
    return decode(bytes, "windows-1252");
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

/** In the first bytes, where HTML and XML have to say it. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("latin1");
  const inTag = /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(start)?.[1];
  return inTag ?? /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w:.-]{1,40})/i.exec(start)?.[1];
}

function decode(bytes: Uint8Array, label: string): string {
  return decoderFor(label).decode(bytes);
}

function decoderFor(label: string) {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder("utf-8");
  }
}
