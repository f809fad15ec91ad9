import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testProfile } from "../../../testing/engine-fixture.ts";
import { openApi, refusal, type TestApi } from "./api.test-support.ts";

const options = {
  consent: "given" as const,
  profiles: [testProfile("writer", { tools: ["write_file"] })],
  model: ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    messages.length > 1
      ? "Done."
      : { calls: [{ tool: "write_file", input: { path: "note.txt", content: "hello" } }] },
};

const start = ({ client, engine }: TestApi, as = client) =>
  as.startRun({ task: "write", profile: "writer", workspace: engine.workspace, wait: 20_000 });

const isWritten = ({ engine: { workspace } }: TestApi): boolean =>
  existsSync(join(workspace, "note.txt"));

describe("consent to a folder, over HTTP", () => {
  it("is asked for before the first run, and holds for the answerer's runs until it is forgotten", async () => {
    await using api = await openApi(options);
    const { client, engine } = api;
    const folder = engine.workspace;
    expect(await client.listFolders()).toEqual({
      items: [{ folder, mode: null, answeredAt: null }],
    });
    expect(await refusal(start(api))).toBe("403 refused-by-policy");
    const answered = await client.consentToFolder({ folder, mode: "read-only" });
    expect(answered).toMatchObject({ folder, mode: "read-only" });
    await start(api);
    expect(isWritten(api)).toBe(false);
    await client.consentToFolder({ folder, mode: "in-place" });
    await start(api);
    expect(isWritten(api)).toBe(true);
    expect((await client.listFolders()).items).toMatchObject([{ folder, mode: "in-place" }]);
    await client.forgetFolder({ folder });
    expect(await refusal(start(api))).toBe("403 refused-by-policy");
    expect(await refusal(client.forgetFolder({ folder }))).toBe("409 conflict");
  });

  it("of another token counts for that token, and for no more than the installation's own answer", async () => {
    await using api = await openApi(options);
    const folder = api.engine.workspace;
    const anna = await api.as("operator", "anna");
    await api.client.consentToFolder({ folder, mode: "in-place" });
    expect((await anna.listFolders()).items).toMatchObject([{ folder, mode: null }]);
    expect(await refusal(start(api, anna))).toBe("403 refused-by-policy");
    await api.client.consentToFolder({ folder, mode: "read-only" });
    expect(await anna.consentToFolder({ folder, mode: "in-place" })).toMatchObject({
      mode: "read-only",
    });
    await start(api, anna);
    expect(isWritten(api)).toBe(false);
    await api.client.consentToFolder({ folder, mode: "in-place" });
    await start(api, anna);
    expect(isWritten(api)).toBe(true);
  });

  it("narrows what the server was started for, and never widens it", async () => {
    await using api = await openApi({ ...options, consent: "named" });
    const folder = api.engine.workspace;
    const anna = await api.as("operator", "anna");
    expect((await anna.listFolders()).items).toMatchObject([
      { mode: "in-place", answeredAt: null },
    ]);
    await anna.consentToFolder({ folder, mode: "read-only" });
    await start(api, anna);
    expect(isWritten(api)).toBe(false);
    await start(api);
    expect(isWritten(api)).toBe(true);
  });

  it("is an operator's, for folders of the server and below them, and for no broad one", async () => {
    await using api = await openApi(options);
    const { client, engine } = api;
    const folder = engine.workspace;
    const viewer = await api.as("viewer");
    expect((await viewer.listFolders()).items).toMatchObject([{ mode: null }]);
    const mode = "in-place";
    expect(await refusal(viewer.consentToFolder({ folder, mode }))).toBe("403 forbidden");
    expect(await refusal(viewer.forgetFolder({ folder }))).toBe("403 forbidden");
    symlinkSync(engine.home, join(folder, "link"));
    for (const elsewhere of ["/", engine.home, join(folder, ".."), join(folder, "link"), "gone"]) {
      const refused = await refusal(client.consentToFolder({ folder: elsewhere, mode }));
      expect([elsewhere, refused]).toEqual([elsewhere, "403 refused-by-policy"]);
    }
    const wrong = { folder, mode: "all" } as unknown as { folder: string; mode: typeof mode };
    expect(await refusal(client.consentToFolder(wrong))).toBe("400 request-invalid");
    mkdirSync(join(folder, "sub"));
    await client.consentToFolder({ folder: "sub", mode: "copy" });
    rmSync(join(folder, "sub"), { recursive: true });
    const sub = join(folder, "sub");
    expect((await client.listFolders()).items).toMatchObject([
      { folder, mode: null },
      { folder: sub, mode: null },
    ]);
    await client.forgetFolder({ folder: sub });
    expect((await client.listFolders()).items).toHaveLength(1);
  });

  it("for a folder that holds a home is refused, however the server was started", async () => {
    await using api = await openApi(options, (workspace) => [join(workspace, "..")]);
    const folder = join(api.engine.workspace, "..");
    expect(await refusal(api.client.consentToFolder({ folder, mode: "in-place" }))).toBe(
      "403 refused-by-policy",
    );
  });
});
