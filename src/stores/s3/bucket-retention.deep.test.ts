import { expect, it } from "vitest";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound, note, StoredRun } from "../../testing/stored-run.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { BucketServer, keyVariables, region } from "./bucket-server.test-support.ts";
import { S3Artifacts } from "./s3-artifacts.ts";

it("a store on Postgres keeps its bodies in a bucket, and prunes them there", async () => {
  const server = new BucketServer();
  const endpoint = await server.listen();
  const url = await freshDatabase();
  const artifacts = await S3Artifacts.open({ endpoint, bucket: "bodies", region }, keyVariables);
  const store = await PostgresStore.open({ url, artifacts });
  try {
    const [own, shared] = [await store.keepArtifact("own"), await store.keepArtifact("shared")];
    const old = await StoredRun.start(store);
    await old.append(note(await old.child(), `${own.hash} ${shared.hash}`));
    await old.finish();
    const open = await StoredRun.start(store);
    await open.append(note(await open.child(), shared.hash));
    for (const object of server.objects.values()) object.at -= 2 * 24 * 60 * 60 * 1000;
    const lately = await store.keepArtifact("lately");
    const report = await store.prune({
      ...{ finishedBefore: Date.now() + 1000, actor: "ann", most: 10 },
    });
    expect(report).toMatchObject({ runs: [{ runId: old.id }], artifacts: 1 });
    expect(await store.readArtifact(own.hash)).toBeUndefined();
    expect(await store.readArtifact(shared.hash)).toBe("shared");
    expect(await store.readArtifact(lately.hash)).toBe("lately");
    await assertSound(store);
  } finally {
    await store.close();
    await dropDatabase(url);
    await server.close();
  }
});
