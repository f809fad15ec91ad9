import { expect, test } from "vitest";
import { limitProjectServer } from "./mcp-servers.ts";

test("a project's file chooses neither the folder of a server nor where it finds code", () => {
  const env = { DOCS_LANG: "en", PATH: "./bin", NODE_OPTIONS: "-r ./x", Ld_Preload: "x" };
  const { server, notes } = limitProjectServer({
    ...{ kind: "stdio", command: "npx", args: ["-y", "docs-server"], cwd: ".", env },
  });
  expect(server).toEqual({
    ...{ kind: "stdio", command: "npx", args: ["-y", "docs-server"] },
    env: { DOCS_LANG: "en" },
  });
  expect(notes.map((note) => note.slice(0, note.indexOf(":")))).toEqual([
    "Its cwd is ignored",
    "Its env.PATH is ignored",
    "Its env.NODE_OPTIONS is ignored",
    "Its env.Ld_Preload is ignored",
  ]);
});

test("a server without them, or with an address, stays as it is", () => {
  const plain = { kind: "stdio", command: "docs", env: { DOCS_TOKEN: "x" } } as const;
  const distant = { kind: "http", url: "https://docs.example.com" } as const;
  for (const server of [plain, distant]) {
    expect(limitProjectServer(server)).toEqual({ server, notes: [] });
  }
});
