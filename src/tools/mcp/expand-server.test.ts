import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HttpServer, StdioServer } from "../../contracts/mcp-server.ts";
import { expandServer } from "./expand-server.ts";
import { variable } from "./opened.test-support.ts";

const stdio = (more: Partial<StdioServer>): StdioServer => ({
  kind: "stdio",
  command: "x",
  ...more,
});
const http = (more: Partial<HttpServer>): HttpServer => ({
  kind: "http",
  url: "http://h/",
  ...more,
});

describe("variables", () => {
  const environment = { TOKEN: "t0k3n", EMPTY: "", HOME: "/home/x" };

  it("are replaced in every field that is used at the start", () => {
    const token = variable("TOKEN");
    expect(
      expandServer(
        stdio({
          command: `${variable("workspaceFolder")}/bin/${token}`,
          args: [`--key=${token}`, variable("env:TOKEN"), variable("MISSING:-a:-b")],
          env: { A: `${token}${token}`, B: variable("EMPTY:-full") },
          cwd: variable("workspaceFolder"),
        }),
        { environment, workspace: "/work", isOwn: true },
      ),
    ).toMatchObject({
      command: "/work/bin/t0k3n",
      args: ["--key=t0k3n", "t0k3n", "a:-b"],
      env: { A: "t0k3nt0k3n", B: "full", HOME: "/home/x" },
      cwd: "/work",
    });
    expect(
      expandServer(
        http({
          url: `https://h/${token}?k=${token}`,
          headers: { Authorization: `Bearer ${token}` },
        }),
        { environment, workspace: null, isOwn: true },
      ),
    ).toMatchObject({
      url: "https://h/t0k3n?k=t0k3n",
      headers: { Authorization: "Bearer t0k3n" },
    });
  });

  it.each([
    ["NOT_SET", `Its env.A uses \${NOT_SET}, which is not set.`],
    ["EMPTY", `Its env.A uses \${EMPTY}, which is not set.`],
    ["env:NOT_SET", `Its env.A uses \${NOT_SET}, which is not set.`],
    ["constructor", `Its env.A uses \${constructor}, which is not set.`],
    [
      "workspaceFolder",
      `Its env.A uses \${workspaceFolder}, and this delegation has no workspace.`,
    ],
    ["input:key", `Its env.A uses \${input:key}, which is not known here.`],
    ["", `Its env.A uses \${}, which is not known here.`],
    ["A:-${B", "Its env.A holds a variable that is not closed or stands inside another one."],
  ])("%s without a value is an error that names it", (name, sentence) => {
    const server = stdio({ env: { A: variable(name) } });
    expect(() => expandServer(server, { environment, workspace: null, isOwn: true })).toThrow(
      sentence,
    );
  });

  it("are replaced once: a value that looks like a variable stays", () => {
    const sneaky = { A: variable("TOKEN"), TOKEN: "t0k3n" };
    const server = stdio({ args: [variable("A")] });
    expect(
      expandServer(server, { environment: sneaky, workspace: null, isOwn: true }),
    ).toMatchObject({ args: [variable("TOKEN")] });
  });
});

describe("the environment of a process", () => {
  it("holds what was declared and what every program needs, whatever else there is", () => {
    const needed = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];
    const ours: Record<string, string> = { PYTHONSAFEPATH: "1", PERL_USE_UNSAFE_INC: "0" };
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1 }), fc.string()),
        fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), fc.stringMatching(/^[^$\0]*$/)),
        (environment, env) => {
          const expanded = expandServer(stdio({ env }), {
            environment,
            workspace: null,
            isOwn: true,
          });
          if (expanded.kind !== "stdio") throw new Error("not stdio");
          for (const [name, value] of Object.entries(expanded.env)) {
            const isDeclared = Object.hasOwn(env, name);
            if (isDeclared) expect(value).toBe(env[name]);
            else if (Object.hasOwn(ours, name)) expect(value).toBe(ours[name]);
            else expect(needed).toContain(name);
            if (!isDeclared && name.startsWith("L")) expect(value).toBe(environment[name]);
          }
          expect(Object.keys(expanded.env)).toEqual(expect.arrayContaining(Object.keys(env)));
        },
      ),
    );
  });
});

describe("the folder of a process", () => {
  const folderOf = (cwd: string | undefined, workspace: string | null) => {
    const expanded = expandServer(stdio(cwd === undefined ? {} : { cwd }), {
      environment: {},
      workspace,
      isOwn: true,
    });
    return expanded.kind === "stdio" ? expanded.cwd : "";
  };

  it("is none of ours, unless the declaration names one: below the workspace, or absolute", () => {
    expect(folderOf(undefined, "/work")).toBe(null);
    expect(folderOf(undefined, null)).toBe(null);
    expect(folderOf("tools/..b", "/work")).toBe("/work/tools/..b");
    expect(folderOf("/opt", "/work")).toBe("/opt");
  });

  it("is not found by walking out of the workspace", () => {
    expect(() => folderOf("a/../..", "/work")).toThrow("Its cwd is outside the workspace.");
    expect(() => folderOf("..", "/work")).toThrow("Its cwd is outside the workspace.");
    expect(() => folderOf("a", null)).toThrow("Its cwd is relative, and this delegation has no");
  });
});

describe("what cannot be used is refused without quoting it", () => {
  it.each([
    [stdio({ command: " " }), "Its command is empty."],
    [stdio({ args: ["a\0secret"] }), "Its args[0] holds a NUL character."],
    [stdio({ env: { "A=B": "secret" } }), '"A=B" cannot be the name of a variable.'],
    [stdio({ env: JSON.parse('{"__proto__":"secret"}') }), '"__proto__" cannot be the name'],
    [http({ url: "ftp://secret" }), "Its url is not an address that begins with http"],
    [http({ url: "http://user:secret@host/" }), "Its url holds a name or password."],
    [http({ headers: { "X Y": "secret" } }), '"X Y" cannot be the name of a header.'],
    [http({ headers: { X: "secret\r\nHost: evil" } }), "Its headers.X holds a character"],
    [http({ headers: { X: "secret ✓" } }), "Its headers.X holds a character"],
  ])("%#", (server, sentence) => {
    const thrown = (() => {
      try {
        return expandServer(server, { environment: {}, workspace: null, isOwn: true });
      } catch (error) {
        return String(error);
      }
    })();
    expect(thrown).toContain(sentence);
    expect(thrown).not.toContain("secret");
  });
});

describe("hidden values", () => {
  it("are all of them in errors, and the secret ones in results", () => {
    const environment = { API_KEY: "abcdefgh+1", FOLDER: "/data/files", HOME: "/home/x" };
    const args = [variable("FOLDER"), variable("HOME")];
    const env = { SERVICE: variable("API_KEY"), MODE: "verbose" };
    const { hidden } = expandServer(stdio({ args, env }), {
      environment,
      workspace: null,
      isOwn: true,
    });
    const text = "abcdefgh+1 abcdefgh%2B1 /data/files verbose /home/x";
    expect(hidden.inErrors(text)).toBe("[redacted] [redacted] [redacted] [redacted] /home/x");
    expect(hidden.inResults(text)).toBe("[redacted] [redacted] /data/files verbose /home/x");
  });

  it("are the token as well as the whole header", () => {
    const { hidden } = expandServer(http({ headers: { X: "Bearer abcdefgh" } }), {
      environment: {},
      workspace: null,
      isOwn: true,
    });
    expect(hidden.inResults("Bearer abcdefgh, abcdefgh")).toBe("[redacted], [redacted]");
  });
});
