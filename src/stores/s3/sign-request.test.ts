import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodePath, signRequest } from "./sign-request.ts";

// The examples that Amazon publishes with the specification of the signature for S3.
const scope = {
  credentials: {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  },
  region: "us-east-1",
  service: "s3",
  at: Date.UTC(2013, 4, 24),
} as const;
const origin = "https://examplebucket.s3.amazonaws.com";
const empty = hash("sha256", "");

function signatureOf(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  payloadHash = empty,
): string {
  const { authorization = "" } = signRequest(
    { method, url: new URL(origin + path), headers, payloadHash },
    scope,
  );
  return /Signature=([0-9a-f]{64})$/.exec(authorization)?.[1] ?? authorization;
}

describe("a request is signed as Amazon's own examples are", () => {
  it("to get a part of an object", () => {
    expect(signatureOf("GET", "/test.txt", { Range: "bytes=0-9" })).toBe(
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  it("to put an object with a name that has to be encoded", () => {
    const headers = {
      Date: "Fri, 24 May 2013 00:00:00 GMT",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
    };
    const body = hash("sha256", "Welcome to Amazon S3.");
    expect(signatureOf("PUT", encodePath("/test$file.text"), headers, body)).toBe(
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
  });

  it("with a parameter that has no value", () => {
    expect(signatureOf("GET", "/?lifecycle")).toBe(
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
  });

  it("to list objects", () => {
    expect(signatureOf("GET", "/?max-keys=2&prefix=J")).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });

  it("with the token of a session among what is signed, and the secret nowhere", () => {
    const credentials = { ...scope.credentials, sessionToken: "a token" };
    const url = new URL(`${origin}/a`);
    const headers = signRequest(
      { method: "GET", url, headers: {}, payloadHash: empty },
      { ...scope, credentials },
    );
    expect(headers["authorization"]).toContain(
      "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,",
    );
    expect(JSON.stringify(headers)).not.toContain(scope.credentials.secretAccessKey);
  });
});
