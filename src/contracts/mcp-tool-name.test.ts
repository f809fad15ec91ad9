import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mcpToolName, serverSlug } from "./mcp-server.ts";

describe("a tool's name", () => {
  it.each([
    ["github", "create_issue", "mcp__github__create_issue"],
    ["GitHub Copilot", "getIssue", "mcp__github_copilot__getIssue"],
    ["a__b", "c", "mcp__a_b__c"],
    ["_a_", "_b", "mcp__a___b"],
    ["com.example/docs", "search.pages", "mcp__com_example_docs__search_pages"],
  ])("of %s and %s is %s", (server, tool, name) => {
    expect(mcpToolName(server, tool)).toBe(name);
  });

  it("is one that every provider takes, whatever a server calls itself", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (server, tool) => {
        const name = mcpToolName(server, tool);
        expect(name).toMatch(/^mcp__[a-z0-9-][a-z0-9_-]*__[A-Za-z0-9_-]+$/);
        expect(name.length).toBeLessThanOrEqual(64);
        expect(mcpToolName(server, tool)).toBe(name);
      }),
    );
  });

  it("falls apart into server and tool in one way only", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (server, tool) => {
        const rest = mcpToolName(server, tool).slice("mcp__".length);
        expect(rest.slice(0, rest.indexOf("__"))).toBe(serverSlug(server));
      }),
    );
  });

  it("that is too long is told from others that begin alike", () => {
    const long = "x".repeat(80);
    const one = mcpToolName("server", `${long}1`);
    const other = mcpToolName("server", `${long}2`);
    expect(one).toHaveLength(64);
    expect(one).not.toBe(other);
    expect(serverSlug(`${long}1`)).not.toBe(serverSlug(`${long}2`));
    expect(mcpToolName(long, long)).toHaveLength(64);
    expect(serverSlug("日本語")).not.toBe(serverSlug("中文"));
  });
});
