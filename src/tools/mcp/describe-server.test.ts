import { describe, expect, it } from "vitest";
import { describeServer } from "./describe-server.ts";
import { variable } from "./opened.test-support.ts";

describe("a server in one line", () => {
  it("says how it is reached and which names it is given", () => {
    expect(
      describeServer({
        kind: "stdio",
        command: "npx",
        args: [
          "-y",
          "@modelcontextprotocol/server-everything@2025.1.14",
          variable("workspaceFolder"),
        ],
        env: { GITHUB_TOKEN: variable("GITHUB_TOKEN"), MODE: "fast" },
        cwd: "tools",
        tools: ["get_*"],
        sharing: "delegation",
      }),
    ).toBe(
      `stdio: npx -y @modelcontextprotocol/server-everything@2025.1.14 ${variable("workspaceFolder")}; env GITHUB_TOKEN (from GITHUB_TOKEN), MODE; in tools; tools get_*; one for each delegation`,
    );
    expect(
      describeServer({
        kind: "http",
        url: "https://mcp.example.com/v1/mcp",
        tools: [],
        disabled: true,
      }),
    ).toBe("http: https://mcp.example.com/v1/mcp; no tools; disabled");
  });

  it("says nothing that could be a secret, also where one was written down", () => {
    const secret = "a1b2c3d4e5f6a7b8c9d0e1f2";
    const line = [
      describeServer({
        kind: "stdio",
        command: "run",
        args: [
          `--api-key=${secret}`,
          "--token",
          secret,
          `API_TOKEN:${secret}`,
          variable(`KEY:-${secret}`),
          `sk-${secret}`,
          secret,
          `https://host/${secret}?k=${secret}`,
        ],
        env: { X: secret },
      }),
      describeServer({
        kind: "http",
        url: `https://user:${secret}@mcp.example.com/s/${secret}/mcp?key=${secret}#${secret}`,
        headers: { "X-Key": secret },
      }),
    ].join("\n");
    expect(line).not.toContain(secret);
    expect(line).toContain("http: https://mcp.example.com/s/…/mcp; headers X-Key");
    expect(line).toContain(variable("KEY"));
  });

  it("cannot drive a terminal", () => {
    expect(describeServer({ kind: "stdio", command: "a\u001b[31mb\nc\u202e" })).toBe("stdio: ab c");
  });
});
