import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import { sha256 } from "../../events/hash-chain.ts";
import { type Clock, sleep, systemClock, timeoutSignal } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { isMissingPackage, messageOf } from "../../ports/message-of.ts";
import type { ArtifactStore } from "../../ports/store.ts";

export interface BucketPlace {
  /** `https://s3.eu-central-1.amazonaws.com`, or that of another store with the same protocol. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix?: string;
  readonly region?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Sdk = typeof import("@aws-sdk/client-s3");

const tries = 6;
const firstPauseMs = 100;
const longestPauseMs = 3_000;
const answerMs = 60_000;
/** A bound that is larger than any stored body. */
const mostBytes = 512 * 1024 * 1024;

/** Bodies that are too large for the log, as objects of an S3 bucket. */
export class S3Artifacts implements ArtifactStore {
  readonly #sdk: Sdk;
  readonly #client: S3Client;
  readonly #place: BucketPlace;
  readonly #prefix: string;
  readonly #clock: Clock;

  private constructor(sdk: Sdk, config: S3ClientConfig, place: BucketPlace, clock: Clock) {
    this.#sdk = sdk;
    this.#client = new sdk.S3Client(config);
    this.#place = place;
    this.#clock = clock;
    const prefix = place.prefix?.replaceAll(/^\/+|\/+$/g, "") ?? "";
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
  }

  /**
   * Opens a bucket with the keys of the environment, or with those that the standard AWS credential
   * chain finds: profiles and SSO, web identity, container and instance roles.
   */
  static async open(
    place: BucketPlace,
    environment: Environment,
    clock: Clock = systemClock,
  ): Promise<S3Artifacts> {
    const sdk = await loadSdk();
    const accessKeyId = environment["AWS_ACCESS_KEY_ID"];
    const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"];
    const sessionToken = environment["AWS_SESSION_TOKEN"];
    const config: S3ClientConfig = {
      endpoint: place.endpoint,
      region: place.region ?? "us-east-1",
      // The bucket is part of the path: other S3 servers have no host name for each bucket.
      forcePathStyle: true,
      // Retries are ours: their pauses follow the clock of the runtime.
      maxAttempts: 1,
      // Other stores refuse the checksums that the client adds by default.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      ...(accessKeyId &&
        secretAccessKey && {
          credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
        }),
    };
    return new S3Artifacts(sdk, config, place, clock);
  }

  /** Writes the object every time, so that its date says when its body was last kept. */
  async keep(body: string): Promise<{ hash: string; bytes: number }> {
    const hash = sha256(body);
    // Half of a surrogate pair is lost in UTF-8.
    const encoding = body.isWellFormed() ? "utf8" : "utf16le";
    const command = {
      ...this.#object(hash),
      Body: Buffer.from(body, encoding),
      ContentType: "application/octet-stream",
      Metadata: { encoding },
    };
    await this.#send(`PUT ${command.Key}`, (abortSignal) =>
      this.#client.send(new this.#sdk.PutObjectCommand(command), { abortSignal }),
    );
    return { hash, bytes: Buffer.byteLength(body) };
  }

  async read(hash: string): Promise<string | undefined> {
    if (!isHash(hash)) return undefined;
    const object = this.#object(hash);
    const answer = await this.#send(`GET ${object.Key}`, async (abortSignal) => {
      const command = new this.#sdk.GetObjectCommand(object);
      const {
        Body,
        ContentLength = 0,
        Metadata,
      } = await this.#client.send(command, { abortSignal });
      if (ContentLength > mostBytes) {
        throw new Error(`the object has ${ContentLength} bytes`);
      }
      const bytes = await Body?.transformToByteArray();
      return { bytes: Buffer.from(bytes ?? []), encoding: Metadata?.["encoding"] };
    });
    if (answer === undefined) return undefined;
    const body = answer.bytes.toString(answer.encoding === "utf16le" ? "utf16le" : "utf8");
    if (sha256(body) === hash) return body;
    throw new MandateError(
      "database-unusable",
      `The artifact ${hash.slice(0, 12)} in the bucket is not what was kept there: its content has another hash.`,
    );
  }

  async *list(): AsyncGenerator<{ hash: string; keptAt: number }> {
    for (let token: string | undefined; ; ) {
      const request = {
        Bucket: this.#place.bucket,
        Prefix: this.#prefix,
        ...(token !== undefined && { ContinuationToken: token }),
      };
      const page = await this.#send("", (abortSignal) =>
        this.#client.send(new this.#sdk.ListObjectsV2Command(request), { abortSignal }),
      );
      for (const { Key = "", LastModified } of page?.Contents ?? []) {
        const hash = Key.slice(-64);
        const keptAt = LastModified?.getTime() ?? Number.NaN;
        // Other objects of the bucket are not ours.
        if (isHash(hash) && Key === this.#object(hash).Key && !Number.isNaN(keptAt)) {
          yield { hash, keptAt };
        }
      }
      const next = page?.IsTruncated === true ? page.NextContinuationToken : undefined;
      if (next === undefined || next === token) return;
      token = next;
    }
  }

  async remove(hash: string, keptBefore: number): Promise<boolean> {
    if (!isHash(hash)) return false;
    const object = this.#object(hash);
    const found = await this.#send(`HEAD ${object.Key}`, (abortSignal) =>
      this.#client.send(new this.#sdk.HeadObjectCommand(object), { abortSignal }),
    );
    const keptAt = found?.LastModified?.getTime() ?? Number.NaN;
    // A date in a header has no milliseconds; a missing date proves nothing.
    if (!(keptAt + 1000 < keptBefore)) return false;
    await this.#send(`DELETE ${object.Key}`, (abortSignal) =>
      this.#client.send(new this.#sdk.DeleteObjectCommand(object), { abortSignal }),
    );
    return true;
  }

  #object(hash: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: `${this.#prefix}${hash.slice(0, 2)}/${hash}` };
  }

  /** Undefined when the object does not exist. Throws a sentence without a secret in it. */
  async #send<Answer>(
    what: string,
    request: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    let failure: unknown;
    for (let attempt = 0; attempt < tries; attempt++) {
      if (attempt > 0) await sleep(this.#clock, pauseBefore(attempt, this.#clock));
      try {
        return await request(timeoutSignal(this.#clock, answerMs));
      } catch (error) {
        failure = error;
        const status = statusOf(error);
        const { name } = error as Error;
        if (status === 404 && what !== "" && name !== "NoSuchBucket") return undefined;
        // A busy or broken store recovers; a refusal stays one, and so do missing credentials.
        const isRefused = status !== undefined && status < 500 && status !== 429;
        if (isRefused || name === "CredentialsProviderError") break;
      }
    }
    const { bucket, endpoint } = this.#place;
    const object = what === "" ? "" : ` (${what})`;
    throw new MandateError(
      "database-unusable",
      `The bucket ${bucket} at ${new URL(endpoint).host} refused a request or did not answer${object}: ${reasonOf(failure)}. Check \`database.artifacts\` and the AWS credentials.`,
    );
  }
}

async function loadSdk(): Promise<Sdk> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    if (!isMissingPackage(cause, ["@aws-sdk/client-s3"])) throw cause;
    throw new MandateError(
      "database-unusable",
      "Artifacts in a bucket need the package @aws-sdk/client-s3, which is not installed: npm install @aws-sdk/client-s3",
      { cause },
    );
  }
}

function pauseBefore(attempt: number, clock: Clock): number {
  const pause = Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs);
  return pause * (0.5 + clock.random());
}

function statusOf(error: unknown): number | undefined {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  return $metadata?.httpStatusCode;
}

function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status !== undefined) return `${status} ${(error as Error).name}`;
  const { code } = error as { readonly code?: unknown };
  return messageOf(error) || String(code);
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}
