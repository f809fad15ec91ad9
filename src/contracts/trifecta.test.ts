import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleContract } from "../testing/example-contract.ts";
import type { Contract } from "./contract.ts";
import { type Exposure, fullExposure, noExposure } from "./exposure.ts";
import type { Selection } from "./selection.ts";
import { isEgressOpen, trifectaOf, type WayOut } from "./trifecta.ts";

const kinds: Readonly<Record<string, Exposure>> = {
  read_file: { untrusted: true, private: "workspace", wayOut: false },
  web_fetch: { untrusted: true, private: false, wayOut: "address" },
  ledger: { untrusted: false, private: true, wayOut: false },
  shell: { untrusted: true, private: "workspace", wayOut: "granted_hosts" },
  complete_task: noExposure,
  own: fullExposure,
};
const exposureOf = (tool: string) => kinds[tool];
const names = Object.keys(kinds);

interface Holding {
  readonly tools?: readonly string[];
  readonly root?: string | null;
  readonly open?: Selection;
  readonly network?: Selection;
  readonly carries?: Contract["parent"]["carries"];
}

function contractOf({ carries, network = "*", open, root = "/w", tools = [] }: Holding): Contract {
  const base = exampleContract();
  return {
    ...base,
    parent: { ...base.parent, ...(carries && { carries }) },
    permissions: {
      ...base.permissions,
      allowed_tools: tools,
      can_spawn_children: false,
      may_delegate: null,
      network,
      ...(open && { ways_out: open }),
    },
    workspace: { ...base.workspace, root },
  };
}

const evil = new URL("https://evil.example/?d=x");
const fetched = { tool: "web_fetch", destinations: [evil] };

describe("a contract", () => {
  it("is marked when its tools bring all three, and not when one is missing", () => {
    const marked = (holding: Holding) =>
      Object.values(trifectaOf(contractOf(holding), exposureOf)).every((held) => held);
    expect(marked({ tools: ["read_file", "web_fetch"] })).toBe(true);
    expect(marked({ tools: ["read_file", "web_fetch"], root: null })).toBe(false);
    expect(marked({ tools: ["web_fetch"] })).toBe(false);
    expect(marked({ tools: ["read_file"] })).toBe(false);
    expect(marked({ tools: ["ledger", "web_fetch"], root: null })).toBe(true);
    expect(marked({ tools: ["web_fetch"], carries: ["untrusted", "private"] })).toBe(true);
    expect(marked({ tools: ["mcp__docs__*"], root: null })).toBe(true);
    expect(marked({ tools: ["shell"] })).toBe(true);
    expect(marked({ tools: ["shell"], network: ["a.example"] })).toBe(true);
    expect(marked({ tools: ["shell"], network: [] })).toBe(false);
  });

  it("holds what those below it can read", () => {
    const base = contractOf({ tools: ["delegate_task", "web_fetch"] });
    const authority = { ...noAuthority, tools: ["read_file"] };
    const leading: Contract = {
      ...base,
      permissions: { ...base.permissions, can_spawn_children: true, may_delegate: authority },
    };
    expect(trifectaOf(leading, exposureOf)).toEqual({
      untrusted: true,
      private: true,
      wayOut: true,
    });
    expect(isEgressOpen(leading, "delegate_task", fetched, exposureOf)).toBe(false);
  });
});

const noAuthority = {
  tools: [],
  skills: [],
  mcp_servers: [],
  models: [],
  scopes: [],
  write_roots: [],
  network: [],
};

describe("a way out", () => {
  const tools = ["read_file", "web_fetch"];

  it("is open until a stranger's words came in, then to what the operator left open alone", () => {
    const isOpen = (open: Selection | undefined, untrusted: string | null = "read_file") =>
      isEgressOpen(contractOf({ tools, ...(open && { open }) }), untrusted, fetched, exposureOf);
    expect(isOpen(undefined, null)).toBe(true);
    expect(isOpen(undefined)).toBe(false);
    expect(isOpen([])).toBe(false);
    expect(isOpen(["evil.example"])).toBe(true);
    expect(isOpen(["*.example"])).toBe(true);
    expect(isOpen(["evil.example:8443"])).toBe(false);
    expect(isOpen(["web_fetch"])).toBe(true);
    expect(isOpen("*")).toBe(true);
    expect(isOpen(["example", "vil.example", "evil.example.org", "web"])).toBe(false);
  });

  it("of which nobody knows where it leads is open by its tool's name only", () => {
    const contract = contractOf({ tools: [...tools, "shell"], open: ["evil.example"] });
    expect(isEgressOpen(contract, "read_file", { tool: "shell" }, exposureOf)).toBe(false);
    const none = { tool: "web_fetch", destinations: [] };
    expect(isEgressOpen(contract, "read_file", none, exposureOf)).toBe(false);
  });

  it("is open to origins that were named, and by a tool that sends addresses to known ones", () => {
    const known = { ...fetched, isKnown: (url: URL) => url.href === evil.href };
    const isOpen = (open: Selection, call: WayOut) =>
      isEgressOpen(contractOf({ tools: [...tools, "own"], open }), "read_file", call, exposureOf);
    expect(isOpen(["https://evil.example"], fetched)).toBe(true);
    expect(isOpen(["http://evil.example", "https://evil.example:8443"], fetched)).toBe(false);
    expect(isOpen(["mcp__*"], known)).toBe(true);
    expect(
      isOpen(["mcp__*"], { ...known, destinations: [evil, new URL("https://b.example")] }),
    ).toBe(false);
    expect(isOpen(["mcp__*"], { ...known, tool: "own" })).toBe(false);
    expect(isOpen([], known)).toBe(false);
  });

  it("that is closed is not opened by more tools, by a workspace or by what was carried along", () => {
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.subarray(names),
        fc.boolean(),
        fc.subarray(["untrusted", "private"] as const),
        (some, more, hasRoot, carries) => {
          const isOpen = (holding: Holding) =>
            isEgressOpen(contractOf(holding), "x", fetched, exposureOf);
          const before = isOpen({ tools: some, root: null });
          const after = isOpen({ tools: [...some, ...more], root: hasRoot ? "/w" : null, carries });
          expect(after && !before).toBe(false);
        },
      ),
    );
  });
});
