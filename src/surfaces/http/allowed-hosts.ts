/**
 * The host names and origins that a server answers to. Requests with any other name are refused,
 * also with a valid token: a foreign page can point its own DNS name at this machine.
 */
export class AllowedHosts {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** `names`: further names of this machine, with or without a port. */
  constructor(port: number, names: readonly string[] = []) {
    const own = loopbackNames.flatMap((name) => withPort(name, port));
    const others = names.map((name) => name.toLowerCase());
    const otherHosts = others.flatMap((name) =>
      hasPort(name) ? [name] : [name, `${name}:${port}`],
    );
    this.#hosts = new Set([...own, ...otherHosts]);
    this.#origins = new Set([
      ...own.map((host) => `http://${host}`),
      // The name may be that of a proxy that terminates TLS.
      ...otherHosts.flatMap((host) => [`http://${host}`, `https://${host}`]),
    ]);
  }

  hasHost(host: string): boolean {
    return this.#hosts.has(host.toLowerCase());
  }

  hasOrigin(origin: string): boolean {
    return this.#origins.has(origin);
  }
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** Clients omit the default port of HTTP. */
function withPort(name: string, port: number): readonly string[] {
  return port === 80 ? [name, `${name}:80`] : [`${name}:${port}`];
}

function hasPort(name: string): boolean {
  return /:\d{1,5}$/.test(name);
}

/** Whether an address to listen at can be reached from this machine alone. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^(127(\.\d{1,3}){3}|::1)$/.test(hostname);
}
