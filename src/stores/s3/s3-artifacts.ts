import { sha256 } from "../../events/hash-chain.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { type BucketPlace, S3Requests } from "./s3-requests.ts";
import type { Credentials } from "./sign-request.ts";

const encodingHeader = "x-amz-meta-encoding";

/** Bodies too large for the log, as objects of a bucket, by the protocol of S3. */
export class S3Artifacts implements ArtifactStore {
  readonly #requests: S3Requests;
  readonly #prefix: string;

  constructor(place: BucketPlace, credentials: Credentials, clock: Clock = systemClock) {
    this.#requests = new S3Requests(place, credentials, clock);
    const prefix = place.prefix?.replaceAll(/^\/+|\/+$/g, "") ?? "";
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
  }

  /** With the keys that are in the usual variables. */
  static open(
    place: BucketPlace,
    environment: Readonly<Record<string, string | undefined>>,
    clock: Clock = systemClock,
  ): S3Artifacts {
    const accessKeyId = environment["AWS_ACCESS_KEY_ID"];
    const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"];
    if (!accessKeyId || !secretAccessKey) {
      throw new MandateError(
        "config-invalid",
        `The bucket ${place.bucket} needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for keys that expire).`,
      );
    }
    const sessionToken = environment["AWS_SESSION_TOKEN"] || undefined;
    return new S3Artifacts(place, { accessKeyId, secretAccessKey, sessionToken }, clock);
  }

  /** Put again each time: so its date says when it was kept last. */
  async keep(body: string): Promise<{ hash: string; bytes: number }> {
    const hash = sha256(body);
    // Half of a pair of characters is lost in UTF-8.
    const encoding = body.isWellFormed() ? "utf8" : "utf16le";
    await this.#requests.send({
      method: "PUT",
      key: this.#keyOf(hash),
      headers: { "content-type": "application/octet-stream", [encodingHeader]: encoding },
      body: Buffer.from(body, encoding),
    });
    return { hash, bytes: Buffer.byteLength(body) };
  }

  async read(hash: string): Promise<string | undefined> {
    if (!isHash(hash)) return undefined;
    const answer = await this.#requests.send({ method: "GET", key: this.#keyOf(hash) });
    if (answer === undefined) return undefined;
    const encoding = answer.headers.get(encodingHeader) === "utf16le" ? "utf16le" : "utf8";
    const body = answer.bytes.toString(encoding);
    if (sha256(body) === hash) return body;
    throw new MandateError(
      "database-unusable",
      `The artifact ${hash.slice(0, 12)} in the bucket is not what was kept there: its content has another hash.`,
    );
  }

  async *list(): AsyncGenerator<{ hash: string; keptAt: number }> {
    for (let token: string | undefined; ; ) {
      const answer = await this.#requests.send({
        method: "GET",
        query: {
          "list-type": "2",
          prefix: this.#prefix,
          ...(token !== undefined && { "continuation-token": token }),
        },
      });
      const text = answer?.bytes.toString("utf8") ?? "";
      for (const [, entry = ""] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = elementIn(entry, "Key") ?? "";
        const hash = key.slice(-64);
        const keptAt = Date.parse(elementIn(entry, "LastModified") ?? "");
        // Whatever else is in the bucket is not ours.
        if (isHash(hash) && key === this.#keyOf(hash) && !Number.isNaN(keptAt)) {
          yield { hash, keptAt };
        }
      }
      if (elementIn(text, "IsTruncated") !== "true") return;
      const next = elementIn(text, "NextContinuationToken");
      if (next === undefined || next === token) return;
      token = next;
    }
  }

  async remove(hash: string, keptBefore: number): Promise<boolean> {
    if (!isHash(hash)) return false;
    const key = this.#keyOf(hash);
    const there = await this.#requests.send({ method: "HEAD", key });
    const keptAt = Date.parse(there?.headers.get("last-modified") ?? "");
    // A date in a header has no milliseconds; one that is missing says nothing.
    if (!(keptAt + 1000 < keptBefore)) return false;
    await this.#requests.send({ method: "DELETE", key });
    return true;
  }

  #keyOf(hash: string): string {
    return `${this.#prefix}${hash.slice(0, 2)}/${hash}`;
  }
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

function elementIn(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text
    ?.replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
