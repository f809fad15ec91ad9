import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { sha256 } from "../../events/hash-chain.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { BucketServer, keys, keyVariables, region } from "./bucket-server.test-support.ts";
import { S3Artifacts } from "./s3-artifacts.ts";

let server: BucketServer;
let endpoint: string;

beforeEach(async () => {
  server = new BucketServer();
  endpoint = await server.listen();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

/** Pauses between tries are over at once; the time limit of an answer is the real one. */
const hurried: Clock = {
  ...systemClock,
  after: (ms, act) => systemClock.after(ms < 60_000 ? 0 : ms, act),
};

const open = (place: object = {}, environment: object = {}): Promise<S3Artifacts> =>
  S3Artifacts.open(
    { endpoint, bucket: "bodies", region, prefix: "mandate/acme", ...place },
    { ...keyVariables, ...environment },
    hurried,
  );

async function listed(artifacts: S3Artifacts): Promise<readonly string[]> {
  const hashes: string[] = [];
  for await (const { hash } of artifacts.list()) hashes.push(hash);
  return hashes;
}

describe("artifacts in a bucket", () => {
  it("are kept and read to the letter, also what is no well-formed text", async () => {
    const artifacts = await open();
    for (const body of [
      "",
      "plain",
      "é\u0000\u{1f980}\r\n".repeat(1000),
      "half \ud83d of a pair",
    ]) {
      const kept = await artifacts.keep(body);
      expect(kept).toEqual({ hash: sha256(body), bytes: Buffer.byteLength(body) });
      expect(await artifacts.read(kept.hash)).toBe(body);
      expect([...server.objects.keys()]).toContain(
        `mandate/acme/${kept.hash.slice(0, 2)}/${kept.hash}`,
      );
    }
  });

  it("are not there when they were never kept, and what is no hash names nothing", async () => {
    const artifacts = await open();
    expect(await artifacts.read(sha256("never"))).toBeUndefined();
    const asked = server.requests.length;
    for (const hash of ["", "../x", sha256("x").toUpperCase(), `${sha256("x")}/..`]) {
      expect(await artifacts.read(hash)).toBeUndefined();
      expect(await artifacts.remove(hash, Number.POSITIVE_INFINITY)).toBe(false);
    }
    expect(server.requests).toHaveLength(asked);
  });

  it("are refused when their content is not what was kept", async () => {
    const artifacts = await open();
    const { hash } = await artifacts.keep("what was kept");
    for (const object of server.objects.values()) object.body = Buffer.from("something else");
    await expect(artifacts.read(hash)).rejects.toMatchObject({
      code: "database-unusable",
      message: expect.stringContaining("is not what was kept there"),
    });
  });

  it("are asked for again after a fault that passes, with the same content", async () => {
    const artifacts = await open();
    server.faults.push(503, "cut", 500, 429);
    const { hash } = await artifacts.keep("again");
    expect(server.requests).toHaveLength(5);
    server.faults.push("cut");
    expect(await artifacts.read(hash)).toBe("again");
  });

  it("are given up after a while, with a sentence that says where and why and nothing secret", async () => {
    server.faults.push(...Array.from({ length: 10 }, () => 503));
    const failing = (await open()).keep("body");
    await expect(failing).rejects.toMatchObject({
      code: "database-unusable",
      message: expect.stringMatching(/bucket bodies at 127\.0\.0\.1:\d+ .*503 SlowDown/),
    });
    server.faults.length = 0;
    const gone = new BucketServer();
    const nowhere = await gone.listen();
    await gone.close();
    const before = server.requests.length;
    for (const [place, environment, why] of [
      [{}, { AWS_SECRET_ACCESS_KEY: "wrong-secret" }, /403 SignatureDoesNotMatch/],
      [{ region: "elsewhere" }, {}, /403 SignatureDoesNotMatch/],
      [{ bucket: "nobodys" }, {}, /404 NoSuchBucket/],
      [{ endpoint: nowhere }, {}, /nothing answers/],
    ] as const) {
      const artifacts = await open(place, environment);
      const error = await artifacts.read(sha256("x")).catch((caught: Error) => caught);
      expect(error).toBeInstanceOf(Error);
      const { message } = error as Error;
      expect(message).toMatch(why);
      for (const secret of ["wrong-secret", keys.secretAccessKey, keys.sessionToken]) {
        expect(message).not.toContain(secret);
      }
    }
    // What is refused is not asked for again and again.
    expect(server.requests.length - before).toBe(3);
  });

  it("are listed page by page, without other objects of the bucket", async () => {
    server.pageSize = 3;
    const artifacts = await open();
    const hashes = [];
    for (const number of Array.from({ length: 8 }, (_, index) => index)) {
      hashes.push((await artifacts.keep(`body ${number}`)).hash);
    }
    await (await open({ prefix: "mandate/other" })).keep("another's");
    server.objects.set("mandate/acme/readme.txt", {
      ...{ body: Buffer.from(""), at: 0, encoding: undefined },
    });
    expect([...(await listed(artifacts))].sort()).toEqual(hashes.sort());
    expect(await listed(await open({ prefix: "mandate/other" }))).toHaveLength(1);
  });

  it("are removed unless they were kept again", async () => {
    const artifacts = await open();
    const { hash } = await artifacts.keep("old");
    for (const object of server.objects.values()) object.at -= 60_000;
    const before = Date.now() - 30_000;
    await artifacts.keep("old");
    expect(await artifacts.remove(hash, before)).toBe(false);
    for (const object of server.objects.values()) object.at -= 60_000;
    expect(await artifacts.remove(hash, before)).toBe(true);
    expect(await artifacts.read(hash)).toBeUndefined();
    expect(await artifacts.remove(hash, before)).toBe(false);
  });

  it("are signed with what the standard chain of AWS finds, where the environment has no keys", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mandate-aws-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const lines = [
      "[default]",
      `aws_access_key_id = ${keys.accessKeyId}`,
      `aws_secret_access_key = ${keys.secretAccessKey}`,
      `aws_session_token = ${keys.sessionToken}`,
    ];
    writeFileSync(join(folder, "credentials"), lines.join("\n"));
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_CONFIG_FILE", join(folder, "config"));
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", join(folder, "credentials"));
    const place = { endpoint, bucket: "bodies", region };
    const artifacts = await S3Artifacts.open(place, {}, hurried);
    const { hash } = await artifacts.keep("by role");
    expect(await artifacts.read(hash)).toBe("by role");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", join(folder, "nothing"));
    vi.stubEnv("AWS_PROFILE", "nothing");
    const without = await S3Artifacts.open(place, {}, hurried);
    await expect(without.read(hash)).rejects.toMatchObject({
      code: "database-unusable",
      message: expect.stringMatching(
        /Could not load credentials|Could not resolve credentials|profile/,
      ),
    });
  });
});
