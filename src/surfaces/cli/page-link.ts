import { MandateError } from "../../ports/mandate-error.ts";

/** Asks a server that runs for an address that opens its page, once. */
export async function requestPageLink(server: string, token: string): Promise<string> {
  let response: Response;
  try {
    response = await fetch(`${server}/api/v1/page-code`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
  } catch (cause) {
    throw new MandateError(
      "usage",
      `No server answers at ${server}. Start one with \`mandate serve\`, or say which one with --port.`,
      { cause },
    );
  }
  const said: unknown = await response.json().catch(() => undefined);
  const { url } = (said ?? {}) as { readonly url?: unknown };
  if (response.status === 201 && typeof url === "string") return url;
  throw new MandateError(
    "usage",
    `The server at ${server} gave no address of a page (status ${response.status}). It may be another program's, or of another MANDATE_HOME.`,
  );
}
