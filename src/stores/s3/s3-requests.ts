import { hash } from "node:crypto";
import { type Clock, sleep, timeoutSignal } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { type Credentials, encodePath, signRequest } from "./sign-request.ts";

export interface BucketPlace {
  /** `https://s3.eu-central-1.amazonaws.com`, or that of another store with the same protocol. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix?: string;
  readonly region?: string;
}

export interface S3Request {
  readonly method: "GET" | "PUT" | "HEAD" | "DELETE";
  /** Of an object; absent: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer<ArrayBuffer>;
}

const tries = 6;
const firstPauseMs = 100;
const longestPauseMs = 3_000;
const answerMs = 60_000;
/** Larger than any body that is kept; what is longer is no answer to us. */
const mostBytes = 512 * 1024 * 1024;

/** Signed requests to one bucket, tried again while the other side is merely not well. */
export class S3Requests {
  readonly #place: BucketPlace;
  readonly #credentials: Credentials;
  readonly #clock: Clock;

  constructor(place: BucketPlace, credentials: Credentials, clock: Clock) {
    this.#place = place;
    this.#credentials = credentials;
    this.#clock = clock;
  }

  /** Undefined when there is no such object. Throws a sentence without anything secret in it. */
  async send(request: S3Request): Promise<S3Answer | undefined> {
    let why = "";
    for (let attempt = 0; attempt < tries; attempt++) {
      if (attempt > 0) await sleep(this.#clock, pauseBefore(attempt, this.#clock));
      let response: Response;
      let bytes: Buffer;
      try {
        response = await this.#fetch(request);
        bytes = await readBytes(response);
      } catch (error) {
        why = reasonOf(error);
        continue;
      }
      if (response.ok) return { bytes, headers: response.headers };
      if (response.status === 404 && request.key !== undefined) {
        if (errorCodeIn(bytes) !== "NoSuchBucket") return undefined;
      }
      why = `${response.status} ${errorCodeIn(bytes) ?? response.statusText}`.trim();
      // That it is busy or broken passes; that it does not let us does not.
      if (response.status < 500 && response.status !== 429) break;
    }
    const { bucket, endpoint } = this.#place;
    const what = request.key === undefined ? "" : ` (${request.method} ${request.key})`;
    throw new MandateError(
      "database-unusable",
      `The bucket ${bucket} at ${new URL(endpoint).host} did not do what it was asked${what}: ${why}. Check \`database.artifacts\` and the AWS_ variables of the environment.`,
    );
  }

  #fetch({ body, headers = {}, key, method, query = {} }: S3Request): Promise<Response> {
    const { bucket, endpoint, region = "us-east-1" } = this.#place;
    const url = new URL(endpoint);
    const base = url.pathname.replace(/\/$/, "");
    url.pathname = `${base}${encodePath(`/${bucket}${key === undefined ? "" : `/${key}`}`)}`;
    url.search = new URLSearchParams(query).toString().replaceAll("+", "%20");
    const payloadHash = hash("sha256", body ?? "");
    const { host: _host, ...signed } = signRequest(
      { method, url, headers, payloadHash },
      { credentials: this.#credentials, region, service: "s3", at: this.#clock.now() },
    );
    return fetch(url, {
      method,
      headers: signed,
      redirect: "manual",
      signal: timeoutSignal(this.#clock, answerMs),
      ...(body !== undefined && { body }),
    });
  }
}

export interface S3Answer {
  readonly bytes: Buffer;
  readonly headers: Headers;
}

function pauseBefore(attempt: number, clock: Clock): number {
  const pause = Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs);
  return pause * (0.5 + clock.random());
}

async function readBytes(response: Response): Promise<Buffer> {
  const length = Number(response.headers.get("content-length") ?? 0);
  if (length > mostBytes) {
    await response.body?.cancel();
    throw new Error(`the answer has ${length} bytes`);
  }
  return Buffer.from(await response.arrayBuffer());
}

/** What went wrong below, which `fetch` keeps in its cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof Error ? messageOf(cause) || cause.name : messageOf(error);
}

function errorCodeIn(bytes: Buffer): string | undefined {
  return /<Code>([A-Za-z0-9]{1,60})<\/Code>/.exec(bytes.toString("utf8", 0, 4_000))?.[1];
}
