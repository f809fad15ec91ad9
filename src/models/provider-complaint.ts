import { headOf } from "../text.ts";

/** The common shape of what goes wrong: HTTP errors, error parts of a stream, network failures. */
export interface ProviderComplaint {
  readonly status: number | undefined;
  /** Of the HTTP answer; undefined when the complaint came by another way. */
  readonly headers: Readonly<Record<string, unknown>> | undefined;
  /** For people. */
  readonly message: string;
  /** Everything that tells kinds apart: name, type, code, message and body. */
  readonly text: string;
  readonly cause: unknown;
}

const maximumBody = 20_000;

/**
 * Read by shape, not by class: the same fault arrives as an error object of the client, as a bare
 * object out of the stream, or as text, and loading the client's classes here would cost start-up.
 */
export function readComplaint(error: unknown): ProviderComplaint {
  if (typeof error !== "object" || error === null) {
    const message = String(error);
    return { status: undefined, headers: undefined, message, text: message, cause: undefined };
  }
  const fields = { ...error } as Record<string, unknown>;
  const { name, message, cause } = error as { name?: unknown; message?: unknown; cause?: unknown };
  const said = typeof message === "string" && message !== "" ? message : causeMessage(cause);
  const body = asText(fields["responseBody"]) || asText(fields["data"]);
  const words = [name, fields["type"], fields["code"], said, body.slice(0, maximumBody)];
  return {
    status: httpStatus(fields["statusCode"]) ?? httpStatus(fields["code"]),
    headers: fields["responseHeaders"] as Record<string, unknown> | undefined,
    message: said || headOf(body, 500),
    text: words.map(asText).join(" "),
    cause: isRequestCarrier(error) ? cause : error,
  };
}

/** The client's HTTP errors hold the request's body, and with it the conversation. */
function isRequestCarrier(error: object): boolean {
  return "requestBodyValues" in error || !(error instanceof Error);
}

function httpStatus(value: unknown): number | undefined {
  const isStatus = typeof value === "number" && value >= 100 && value < 600;
  return isStatus ? value : undefined;
}

function causeMessage(cause: unknown): string {
  return cause instanceof Error ? cause.message : "";
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}
