import { createHmac, hash } from "node:crypto";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface UnsignedRequest {
  readonly method: string;
  /** With its path already encoded by `encodePath`. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the body, in hexadecimal digits. */
  readonly payloadHash: string;
}

export interface SigningScope {
  readonly credentials: Credentials;
  readonly region: string;
  readonly service: "s3";
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * AWS Signature Version 4, in headers: what is sent, and with it all that is signed. The secret is
 * in none of them.
 */
export function signRequest(request: UnsignedRequest, scope: SigningScope): Record<string, string> {
  const { credentials, region, service } = scope;
  const time = new Date(scope.at).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...lowerCased(request.headers),
    host: request.url.host,
    "x-amz-content-sha256": request.payloadHash,
    "x-amz-date": time,
    ...(credentials.sessionToken !== undefined && {
      "x-amz-security-token": credentials.sessionToken,
    }),
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(";");
  const canonical = [
    request.method,
    request.url.pathname,
    canonicalQuery(request.url),
    ...names.map((name) => `${name}:${headers[name]?.trim().replaceAll(/ +/g, " ")}`),
    "",
    signed,
    request.payloadHash,
  ].join("\n");
  const place = `${day}/${region}/${service}/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, place, hash("sha256", canonical)].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, text).toString("hex");
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${place},SignedHeaders=${signed},Signature=${signature}`,
  };
}

/** As the signature wants names: everything but letters, digits and -._~ encoded, slashes kept. */
export function encodePath(path: string): string {
  return path.split("/").map(encodePart).join("/");
}

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
    .sort()
    .join("&");
}

function encodePart(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
