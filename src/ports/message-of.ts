/** What the operating system says by a code, as words that follow a colon. */
const systemWords: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRINUSE: "the address is in use",
  EAI_AGAIN: "names cannot be looked up at this moment",
  EBUSY: "it is in use",
  ECONNABORTED: "the connection was ended",
  ECONNREFUSED: "nothing answers there",
  ECONNRESET: "the connection was reset",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it exists already",
  EFBIG: "it is larger than the file system allows",
  EHOSTUNREACH: "that host cannot be reached from here",
  EIO: "the disk reports a fault",
  EISDIR: "it is a folder",
  ELOOP: "it is a link, or its links lead in a circle",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "a name in it is too long",
  ENETUNREACH: "that network cannot be reached from here",
  ENFILE: "too many files are open on this machine",
  ENOENT: "no such file or folder",
  ENOMEM: "there is not enough memory",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a folder",
  ENOTEMPTY: "the folder is not empty",
  ENOTFOUND: "no host has this name",
  EPERM: "the operating system does not permit it",
  EPIPE: "the other side has closed the connection",
  EROFS: "the disk is mounted read-only",
  ETIMEDOUT: "no answer in time",
  ETXTBSY: "the program is running",
  EXDEV: "it is on another file system",
};

/** Groups of codes: Node's reader of HTTP, its decompression, and systems that know more errors. */
const groups: readonly (readonly [RegExp, (code: string) => string])[] = [
  [/^HPE_HEADER_OVERFLOW$/, () => "its headers are too long"],
  [/^HPE_/, () => "the other side does not speak HTTP"],
  [/^Z_/, () => "its compressed data are damaged"],
  [/^E[A-Z0-9]+$/, (code) => `the operating system reports ${code}`],
];

/** Words for a code of the operating system; undefined: the code is none. */
export function systemReason(code: unknown): string | undefined {
  if (typeof code !== "string") return undefined;
  if (Object.hasOwn(systemWords, code)) return systemWords[code];
  return groups.find(([form]) => form.test(code))?.[1](code);
}

/**
 * Why something failed, as words that follow a colon. For an error of the operating system they name
 * neither paths nor addresses, as its own message does.
 * @example `${file}: cannot be read: ${reasonOf(error)}` // "… permission denied"
 */
export function reasonOf(error: unknown): string {
  return systemReason(codeOf(error)) ?? plainMessage(error);
}

/** The message of anything that was thrown. Never throws itself. */
export function messageOf(error: unknown): string {
  const reason = systemReason(codeOf(error));
  if (reason === undefined) return plainMessage(error);
  const { address, path, port } = error as NodeJS.ErrnoException & SocketAddress;
  const place = path ?? (address === undefined ? undefined : [address, port].join(":"));
  return place === undefined ? reason : `${place}: ${reason}`;
}

interface SocketAddress {
  readonly address?: string;
  readonly port?: number;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

function plainMessage(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "a value without a text was thrown";
  }
}

/** Whether an import failed because one of these optional packages is not installed. */
export function isMissingPackage(error: unknown, names: readonly string[]): boolean {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "ERR_MODULE_NOT_FOUND") {
    return false;
  }
  return names.some((name) => error.message.includes(`'${name}'`));
}
