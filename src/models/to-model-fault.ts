import { isIP } from "node:net";
import { ModelFault, type ModelFaultKind } from "../ports/model.ts";
import { redactSecrets } from "../ports/redact-secrets.ts";
import { clip, headOf, oneLine } from "../text.ts";

interface FaultContext {
  readonly model: string;
  /** The text that had arrived before the fault. */
  readonly partial?: string;
  /** The provider had sent at least one event. */
  readonly hasBegun?: boolean;
  readonly secrets?: readonly string[];
  /** The present time, for a date to come back at. */
  readonly now: number;
}

/** Classifies an error of a provider's client by what the agent loop can do about it. */
export function toModelFault(error: unknown, context: FaultContext): ModelFault {
  // A fault of our own, possibly wrapped by the client.
  const own = error instanceof Error && error.cause instanceof ModelFault ? error.cause : error;
  if (own instanceof ModelFault) return own;
  const complaint = readComplaint(error);
  const unreachable = whyUnreachable(error);
  if (unreachable !== undefined) {
    const message = `${context.model} cannot be reached: ${unreachable}.`;
    return new ModelFault("unreachable", message, { cause: complaint.cause });
  }
  const retryAfterMs =
    readRetryAfter(complaint.headers ?? {}, context.now) ?? readRetryDelay(complaint.text);
  const kind = classify(complaint, retryAfterMs !== undefined, context);
  const status = complaint.status === undefined ? "" : ` (${complaint.status})`;
  const said = kind === "unreadable" ? howUnreadable(complaint) : complaint.message;
  const detail = excerpt(redactSecrets(said, context.secrets ?? []));
  return new ModelFault(
    kind,
    asSentence(`${context.model} ${sentences[kind]}${status}: ${detail}`),
    {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(context.partial ? { partial: context.partial } : {}),
      // Only the cause below the client: the client's error holds the whole request, prompt included.
      cause: complaint.cause,
    },
  );
}

/** The clients' own words about it are for programmers. */
function howUnreadable({ unparsed }: ProviderComplaint): string {
  return unparsed === undefined
    ? "it does not follow the protocol"
    : `invalid JSON, “${headOf(unparsed, 80)}”`;
}

/** Ends what a provider said as a sentence, so that another one can follow. */
function asSentence(text: string): string {
  return /[.!?…]["”)\]]?$/.test(text) ? text : `${text}.`;
}

const sentences: Record<ModelFaultKind, string> = {
  "rate-limited": "limits its requests",
  "spend-cap": "refused because a limit of the account is reached",
  overloaded: "is overloaded or failing",
  connection: "lost the connection",
  "context-overflow": "cannot take a conversation this long",
  unauthorized: "refused the API key",
  "unknown-model": "is not offered by its provider",
  "wrong-address": "has no model API at its address",
  unreachable: "cannot be reached",
  unreadable: "sent an answer that cannot be read",
  rejected: "rejected the request",
};

const spendWords =
  /insufficient[_ ](?:quota|balance|credits?|funds)|quota|billing|credit balance|spend(?:ing)?[_ -](?:limit|cap)/i;
const contextWords =
  /context[_ ](?:length|window|size|limit)|maximum context|prompt is too long|input is too long|input length and|input token count|too many (?:input )?tokens|reduce the length|exceeds? the (?:maximum|max)[^.]{0,30}tokens/i;
const overloadWords =
  /overloaded|server_error|internal[_ ](?:server[_ ])?error|api_error|unavailable/i;
const keyWords =
  /authentication_error|permission_error|invalid[_ ]api[_ ]key|api[_ ]key[_ ](?:not[_ ]valid|invalid|expired)|LoadAPIKey/i;
const refusalWords =
  /invalid_request|not_found|Unsupported|InvalidPrompt|InvalidArgument|NoSuchModel/;
/** Providers' words for a missing model, most with the name between these words. */
const modelWords =
  /(?:invalid|unknown|unsupported|no such|not a valid) model\b|\bmodels?\b.{0,120}?\b(?:not (?:exist|found|available|offered|supported)|is invalid|no longer)/is;
/** Errors of the clients: the answer came, and was not what the protocol says. */
const unreadableNames =
  /^AI_(?:JSONParse|TypeValidation|EmptyResponseBody|InvalidStreamPart)Error\b|^Error +Expected a normalized \w+ stream error/;

function classify(
  complaint: ProviderComplaint,
  mayWait: boolean,
  { hasBegun = false }: FaultContext,
): ModelFaultKind {
  const { status, text } = complaint;
  if (unreadableNames.test(text)) return "unreadable";
  // An answer that ended without an end: it was cut, or never was one.
  if (text.startsWith("AI_InvalidResponseDataError")) return hasBegun ? "connection" : "unreadable";
  if (status === undefined || status < 400) return classifyByWords(text);
  if (status === 429) {
    if (mayWait) return "rate-limited";
    // Without a retry time it is a limit of the account: waiting would not help. Inside a stream
    // there are no headers, so there the words decide.
    return complaint.headers === undefined ? classifyByWords(`rate_limit ${text}`) : "spend-cap";
  }
  if (status === 407) return "wrong-address";
  if (status >= 500 || /overloaded/i.test(text)) return "overloaded";
  if (isAboutModel(complaint)) return "unknown-model";
  if (status === 401 || (status === 400 && keyWords.test(text))) return "unauthorized";
  if (status === 402 || (spendWords.test(text) && status !== 404)) return "spend-cap";
  if (status === 403) return "unauthorized";
  if (status === 413 || contextWords.test(text)) return "context-overflow";
  if (status === 404 || status === 405) return "wrong-address";
  return status === 408 ? "connection" : "rejected";
}

/** Some providers use 400 or 403 for an unknown name, and their words tell it apart. */
function isAboutModel({ message, status, text }: ProviderComplaint): boolean {
  if (status === 404) return /\bmodels?\b/i.test(text);
  if (status !== 400 && status !== 403 && status !== 422) return false;
  return /model_not_found|NoSuchModel/.test(text) || modelWords.test(message.slice(0, 500));
}

/** For errors without a useful status: inside a stream that began as 200, or of the network. */
function classifyByWords(text: string): ModelFaultKind {
  if (contextWords.test(text)) return "context-overflow";
  if (spendWords.test(text)) return "spend-cap";
  if (overloadWords.test(text) || /rate_limit/i.test(text)) return "overloaded";
  if (keyWords.test(text)) return "unauthorized";
  if (/model_not_found|NoSuchModel/.test(text)) return "unknown-model";
  return refusalWords.test(text) ? "rejected" : "connection";
}

function excerpt(message: string): string {
  const line = oneLine(message.replaceAll(/<[^>]*>/g, " "));
  return line === "" ? "no reason given" : clip(line, 301);
}

/**
 * How long a provider asks us to wait, in milliseconds: `retry-after-ms`, or `retry-after` as seconds
 * or as a date. Undefined when it did not say, or said nothing that can be understood.
 */
function readRetryAfter(
  headers: Readonly<Record<string, unknown>>,
  now: number,
): number | undefined {
  const milliseconds = asNumber(header(headers, "retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const value = header(headers, "retry-after");
  const seconds = asNumber(value);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = value === undefined || /^[-+\d.]/.test(value) ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Reads the wait from the body, where Google writes it. */
function readRetryDelay(text: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d+)?)s"/.exec(text)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

function header(headers: Readonly<Record<string, unknown>>, wanted: string): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === wanted && typeof value === "string") return value.trim();
  }
  return undefined;
}

function asNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** The common shape of HTTP errors, error parts of a stream and network failures. */
interface ProviderComplaint {
  readonly status: number | undefined;
  /** The headers of the HTTP answer; undefined when the complaint came by another way. */
  readonly headers: Readonly<Record<string, unknown>> | undefined;
  /** The provider's text, for people. */
  readonly message: string;
  /** The error's name, type, code, message and body, in which the kind of fault is looked up. */
  readonly text: string;
  readonly cause: unknown;
  /** What a client could not parse. */
  readonly unparsed?: string;
}

const maximumBody = 20_000;

/**
 * Reads an error by its shape, not its class: the same error arrives as an object of the client, as
 * a plain object in the stream, or as text. Loading the client's classes would slow the start.
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
    ...(name === "AI_JSONParseError" && { unparsed: asText(fields["text"]) }),
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

/** A failed connection; `errors` holds one for each address that was tried. */
interface SocketError {
  readonly code?: unknown;
  /** The name that could not be looked up. */
  readonly hostname?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly errors?: readonly SocketError[];
}

/** Undefined: it may be reached later. A failed look-up of a name (EAI_AGAIN) often passes. */
function whyUnreachable(error: unknown): string | undefined {
  const silent = silentPort(error);
  if (silent !== undefined) return `nothing answers at ${silent}`;
  const { code, hostname } = socketErrorOf(error) ?? {};
  if (code !== "ENOTFOUND") return undefined;
  return typeof hostname === "string"
    ? `no host is named ${headOf(hostname, 255)}`
    : "its host has no address";
}

function socketErrorOf(error: unknown): SocketError | undefined {
  return error instanceof Error ? (error.cause as SocketError | undefined) : undefined;
}

/**
 * The local address that refuses connections, as `127.0.0.1:11434`, by what a client or `fetch` threw;
 * undefined: something else is wrong.
 */
export function silentPort(error: unknown): string | undefined {
  const cause = socketErrorOf(error);
  if (cause?.code !== "ECONNREFUSED") return undefined;
  const { address, port } = cause.errors?.[0] ?? cause;
  if (typeof address !== "string" || typeof port !== "number") return undefined;
  if (!address.startsWith("127.") && address !== "::1") return undefined;
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
