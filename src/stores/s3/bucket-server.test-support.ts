import { createHmac, hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const keys = {
  accessKeyId: "AKIDTEST",
  secretAccessKey: "a secret/that+is=told",
  sessionToken: "tok/en==",
};
export const keyVariables = {
  AWS_ACCESS_KEY_ID: keys.accessKeyId,
  AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
  AWS_SESSION_TOKEN: keys.sessionToken,
};
export const region = "eu-test-1";

interface StoredObject {
  body: Buffer;
  at: number;
  encoding: string | undefined;
}

/** A bucket called `bodies` as a server on this machine, which checks every signature by itself. */
export class BucketServer {
  readonly objects = new Map<string, StoredObject>();
  readonly requests: string[] = [];
  /** Faults to answer the next requests with: a status, or "cut" to break the connection. */
  readonly faults: (number | "cut")[] = [];
  pageSize = 1000;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = "", url = "" } = request;
    this.requests.push(`${method} ${url}`);
    const fault = this.faults.shift();
    if (fault === "cut") return void request.socket.destroy();
    if (fault !== undefined) return refuse(response, fault, "SlowDown");
    if (!isSigned(request, body)) return refuse(response, 403, "SignatureDoesNotMatch");
    const { pathname, searchParams } = new URL(url, "http://here");
    const [, bucket, ...rest] = decodeURIComponent(pathname).split("/");
    if (bucket !== "bodies") return refuse(response, 404, "NoSuchBucket");
    const key = rest.join("/");
    if (key === "") return this.#list(searchParams, response);
    const found = this.objects.get(key);
    if (method === "PUT") {
      const encoding = request.headers["x-amz-meta-encoding"];
      this.objects.set(key, { body, at: Date.now(), encoding: encoding?.toString() });
      response.end();
    } else if (method === "DELETE") {
      this.objects.delete(key);
      response.writeHead(204).end();
    } else if (found === undefined) refuse(response, 404, "NoSuchKey");
    else {
      response.setHeader("last-modified", new Date(found.at).toUTCString());
      if (found.encoding) response.setHeader("x-amz-meta-encoding", found.encoding);
      response.end(method === "HEAD" ? undefined : found.body);
    }
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const after = query.get("continuation-token") ?? "";
    const names = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get("prefix") ?? "") && key > after)
      .sort();
    const page = names.slice(0, this.pageSize);
    const entries = page.map((key) => {
      const at = new Date(this.objects.get(key)?.at ?? 0).toISOString();
      return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified></Contents>`;
    });
    const more = names.length > page.length;
    const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${entries.join("")}</ListBucketResult>`,
    );
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}

/** Worked out from what arrived, by the words of the specification, and by none of our own code. */
function isSigned({ headers, method, url = "" }: IncomingMessage, body: Buffer): boolean {
  const { authorization = "" } = headers;
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, day = "", where = "", names = "", signature] = pattern.exec(authorization) ?? [];
  const time = String(headers["x-amz-date"]);
  const isMeant =
    id === keys.accessKeyId &&
    where === region &&
    time.startsWith(day) &&
    headers["x-amz-security-token"] === keys.sessionToken &&
    headers["x-amz-content-sha256"] === hash("sha256", body) &&
    ["host", "x-amz-date", "x-amz-content-sha256"].every((name) => names.split(";").includes(name));
  if (!isMeant) return false;
  const [path = "", query = ""] = url.split("?");
  const canonical = [
    method,
    path,
    query.split("&").sort().join("&"),
    ...names.split(";").map((name) => `${name}:${String(headers[name])}`),
    "",
    names,
    hash("sha256", body),
  ].join("\n");
  const scope = `${day}/${where}/s3/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash("sha256", canonical)}`;
  let key: string | Buffer = `AWS4${keys.secretAccessKey}`;
  for (const part of [day, where, "s3", "aws4_request"]) {
    key = createHmac("sha256", key).update(part).digest();
  }
  return createHmac("sha256", key).update(text).digest("hex") === signature;
}
