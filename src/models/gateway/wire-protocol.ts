/**
 * The protocols in which programs ask models, for requests that pass through the gateway. Each protocol
 * is pure: it reads a request, lowers its limits, and reads usage from answers. The folder sends nothing.
 * It may import ports, events and the provider catalog.
 */
import type { Cause } from "../../events/cause.ts";
import type { ModelUsage } from "../../ports/model.ts";
import type { ProviderKind } from "../provider-catalog.ts";
import type { ProviderSettings } from "../resolve-provider.ts";

export type Json = Readonly<Record<string, unknown>>;

/** What a contract grants of a request, in addition to its tokens. */
export interface WireGrants {
  /** Tools of the provider that reach the network. */
  readonly network: boolean;
  /** Fees in addition to tokens cannot be held by a cap in dollars. */
  readonly hasCostCap: boolean;
}

/** What the path of a request says. */
export interface WireRoute {
  readonly action: "generate" | "count";
  /** The model, where the path names it. */
  readonly model?: string;
  /** The path asks for a stream. */
  readonly isStreaming?: boolean;
}

/** A request of a program, after everything in it was found to be granted. */
export interface WireRequest {
  /** The model, as the program names it. */
  readonly model: string;
  readonly isStreaming: boolean;
  /** The most output that it asks for; null: it sets no limit. */
  readonly maxOutput: number | null;
  /** Tokens of its prompt that its bytes do not bound: of images and of tools that the provider describes. */
  readonly addedTokens: number;
  /** The bytes of the request are no bound at all: the provider has to count the tokens. */
  readonly mustBeCounted: boolean;
  /** The request writes into the cache for an hour, which costs twice the price of input. */
  readonly writesLongCache: boolean;
  /** Output of that model may be billed, and not be in the stream: thoughts that are kept or summed up. */
  hidesOutput(model: string): boolean;
  /** The body that the provider gets: the granted model, and no more output than was reserved. */
  body(granted: GrantedModel): Json;
  /** The body with which the provider counts the prompt; undefined: it has no such endpoint. */
  countBody(model: string): Json | undefined;
}

export interface GrantedModel {
  readonly model: string;
  /** The kind of the provider: servers that are like OpenAI's differ in names of fields. */
  readonly kind: ProviderKind;
  readonly maxOutput: number;
}

/** How a request was answered. */
export interface WireAnswer {
  readonly served: string | null;
  readonly usage: ModelUsage | null;
  readonly finish: string;
  readonly text: string;
}

/** Follows the events of one stream. */
export interface WireStream {
  /** Reads one event. False: the program did not ask for it, and does not get it. */
  see(event: Json): boolean;
  /** Bytes of output so far, thoughts and arguments included. */
  readonly received: number;
  /** The stream has said its end. */
  readonly isComplete: boolean;
  readonly answer: WireAnswer;
}

/** Why a request is not answered, for the program. */
export interface WireRefusal {
  readonly status: number;
  readonly message: string;
  /** The budget is used up: programs show this differently from an invalid request. */
  readonly isBudget: boolean;
}

export interface WireProtocol {
  readonly name: "anthropic" | "openai-responses" | "openai-chat" | "gemini";
  /** The built-in provider that models without a provider's name belong to. */
  readonly provider: string;
  /** The kinds of providers that understand the protocol. */
  readonly kinds: readonly ProviderKind[];
  /** Reads a request. Throws an `Objection`. */
  read(body: Json, route: WireRoute, grants: WireGrants): WireRequest;
  /** The path below the provider's address. */
  path(route: Pick<WireRoute, "action">, model: string, isStreaming: boolean): string;
  /** The headers of a request to the provider. `client`: what the program sent. */
  headers(
    settings: ProviderSettings,
    client: (name: string) => string | undefined,
  ): Record<string, string>;
  answerIn(body: Json): WireAnswer;
  /** `isUsageAsked`: the program itself asked for the usage. */
  stream(request: Json): WireStream;
  /** The tokens in the answer of a counting endpoint. */
  countIn(body: Json): unknown;
  refusal(refusal: WireRefusal): Json;
  /** The refusal as the last event of a stream that had begun. */
  refusalEvent(refusal: WireRefusal): string;
  models(names: readonly string[]): Json;
}

/** A request that is not sent. Without a cause it is malformed, as the provider would also find. */
export class Objection extends Error {
  override readonly cause: Cause | undefined;

  constructor(message: string, cause?: Cause) {
    super(message);
    this.name = "Objection";
    this.cause = cause;
  }
}

/** `true`: it can neither spend nor leak. A function throws an `Objection` where a value can. */
type FieldRule = true | ((value: unknown, where: string) => void);

export type Fields = Readonly<Record<string, FieldRule>>;

/** Throws for every field that is not listed: what is not known may spend or leak. */
export function checkFields(object: Json, fields: Fields, where = ""): void {
  for (const [key, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue;
    const name = where === "" ? key : `${where}.${key}`;
    const rule = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (rule === undefined) throw notGranted(name);
    if (rule !== true) rule(value, name);
  }
}

export function notGranted(
  field: string,
  needs: Extract<Cause, { code: "request_not_granted" }>["needs"] = "nothing",
): Objection {
  const shown = field.length > 120 ? `${field.slice(0, 120)}…` : field;
  return new Objection("", { code: "request_not_granted", field: shown, needs });
}

/** Throws unless network is granted; `hasFee`: also under a cap in dollars. */
export function requireNetwork(
  field: string,
  { hasCostCap, network }: WireGrants,
  hasFee = true,
): void {
  if (!network) throw notGranted(field, "network");
  if (hasFee && hasCostCap) throw notGranted(field, "network_without_cost_cap");
}

/** A rule for a field that may have only these values. */
export function only(...values: readonly unknown[]): FieldRule {
  return (value, where) => {
    if (!values.includes(value)) throw notGranted(`${where}: ${JSON.stringify(value) ?? ""}`);
  };
}

export function objectIn(value: unknown, where: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new Objection(`${where} must be an object.`);
}

function listIn(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Objection(`${where} must be a list.`);
}

/** The objects in a list; absent: none. */
export function objectsIn(value: unknown, where: string): readonly Json[] {
  if (value === undefined || value === null) return [];
  return listIn(value, where).map((one, index) => objectIn(one, `${where}[${index}]`));
}

export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A positive whole number; null: absent. */
export function limitIn(value: unknown, where: string): number | null {
  if (value === undefined || value === null) return null;
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new Objection(`${where} must be a positive whole number.`);
}

/** A name that cannot change the path or the query of an address, and no list of names. */
export function modelIn(value: unknown, where = "model"): string {
  const isName = typeof value === "string" && value.length <= 200;
  if (isName && /^[a-zA-Z0-9][\w.:@+-]*(?:\/[a-zA-Z0-9][\w.:@+-]*)*$/.test(value)) return value;
  throw new Objection(`${where} must be the name of a model.`);
}

export function isStream(value: unknown): boolean {
  if (value === undefined || value === null || typeof value === "boolean") return value === true;
  throw new Objection("stream must be true or false.");
}

/** An address of data in the request itself. */
export function isInline(value: unknown): boolean {
  return typeof value === "string" && /^data:/i.test(value);
}

/** A count that a provider reports; 0: it reports none. */
export function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

export function partOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** Without the fields of that name. */
export function without(object: Json, ...names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

export function pick(object: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    names.flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])),
  );
}

/** Counts the bytes of a text; no output has more tokens. */
export function bytesOf(...values: readonly unknown[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value) : 0),
    0,
  );
}

/** One event of a stream in the form of server-sent events. */
export function eventOf(data: Json, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}
