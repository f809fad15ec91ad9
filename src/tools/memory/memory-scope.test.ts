import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleMemory, exampleOrigin } from "./example-memory.test-support.ts";
import { maySeeMemory, scopeOfSave } from "./memory-scope.ts";

const sees = (lineage: readonly string[], memory = exampleMemory(), more = {}): boolean =>
  maySeeMemory(memory, exampleOrigin({ lineage, ...more }));

describe("a memory that a sub-agent saved", () => {
  it("is seen by itself, by everybody above it and by everybody below it", () => {
    expect(sees(["root", "child"])).toBe(true);
    expect(sees(["root"])).toBe(true);
    expect(sees(["root", "child", "grandchild"])).toBe(true);
    expect(sees(["root", "child", "grandchild", "last"])).toBe(true);
  });

  it("is not seen by a sibling, nor by a sibling's children", () => {
    expect(sees(["root", "sibling"])).toBe(false);
    expect(sees(["root", "sibling", "nephew"])).toBe(false);
  });

  it("is not seen from another run, also not by somebody with the same ids", () => {
    expect(sees(["root", "child"], exampleMemory(), { runId: "r2" })).toBe(false);
    expect(sees(["other"], exampleMemory(), { runId: "r2", isRoot: true })).toBe(false);
  });

  it("is seen by who continues what saved it, in another run, and by nobody else there", () => {
    const there = { runId: "r2", formerly: ["child"] };
    expect(sees(["again"], exampleMemory(), there)).toBe(true);
    expect(sees(["again", "below"], exampleMemory(), { runId: "r2" })).toBe(false);
    expect(sees(["again"], exampleMemory({ delegationId: "grandchild" }), there)).toBe(false);
  });

  it("is seen by all in its workspace once a person promoted it, and by nobody once forgotten", () => {
    const promoted = exampleMemory({ promoted: { by: "ann", at: 1 } });
    expect(sees(["stranger"], promoted, { runId: "r9" })).toBe(true);
    expect(sees(["stranger"], promoted, { runId: "r9", workspace: "/other" })).toBe(false);
    const forgotten = exampleMemory({
      promoted: { by: "ann", at: 1 },
      forgotten: { by: "bo", at: 2 },
    });
    expect(sees(["root", "child"], forgotten)).toBe(false);
  });

  it("is not seen by somebody without a lineage", () => {
    expect(sees([])).toBe(false);
    expect(sees([], exampleMemory({ lineage: [] }))).toBe(false);
  });
});

describe("a shared memory", () => {
  const shared = exampleMemory({ scope: "shared", runId: "r9", lineage: ["x"], delegationId: "x" });

  it("is seen by all in the same workspace, and by nobody in another or in none", () => {
    expect(sees(["root"], shared)).toBe(true);
    expect(sees(["root"], shared, { workspace: "/work2" })).toBe(false);
    expect(sees(["root"], shared, { workspace: "/work/" })).toBe(false);
    expect(sees(["root"], shared, { workspace: null })).toBe(false);
  });

  it("is seen everywhere when it was saved without a workspace", () => {
    const anywhere = { ...shared, workspace: null };
    expect(sees(["root"], anywhere, { workspace: null })).toBe(true);
    expect(sees(["root"], anywhere, { workspace: "/other" })).toBe(true);
  });
});

it("crosses neither workspaces nor branches, whoever saves and whoever reads", () => {
  const path = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 4 });
  const folder = fc.constantFrom("/one", "/two", null);
  const run = fc.constantFrom("r1", "r2");
  fc.assert(
    fc.property(path, path, folder, folder, run, run, (writer, reader, at, from, in1, in2) => {
      // Ids are paths, so that two branches never share one by chance.
      const ids = (names: readonly string[]) =>
        names.map((_, end) => names.slice(0, end + 1).join("/"));
      const [saved, asking] = [ids(writer), ids(reader)];
      const memory = exampleMemory({
        lineage: saved,
        delegationId: saved.at(-1) ?? "",
        workspace: at,
        runId: in1,
      });
      const seen = maySeeMemory(
        memory,
        exampleOrigin({ lineage: asking, workspace: from, runId: in2 }),
      );
      const shorter = Math.min(writer.length, reader.length);
      const isKin = writer.slice(0, shorter).join() === reader.slice(0, shorter).join();
      expect(seen).toBe(in1 === in2 && isKin && (at === null || at === from));
    }),
  );
});

it("saves as shared only what the root saves, or what the operator lets all share", () => {
  const root = exampleOrigin({ isRoot: true, lineage: ["root"] });
  expect(scopeOfSave("delegated", exampleOrigin())).toBe("delegated");
  expect(scopeOfSave("delegated", root)).toBe("shared");
  expect(scopeOfSave("shared", exampleOrigin())).toBe("shared");
});
