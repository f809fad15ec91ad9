import { describe, expect, it } from "vitest";
import { exampleContract } from "../testing/example-contract.ts";
import { parseContract } from "./parse-contract.ts";

type Path = readonly (string | number)[];

const contract = exampleContract({
  permissions: {
    ...exampleContract().permissions,
    may_delegate: {
      tools: ["read_file"],
      skills: "*",
      mcp_servers: [],
      models: [],
      scopes: [],
      write_roots: [],
      network: [],
    },
  },
});

/** Every object and field of a contract, by its path. */
function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [key, inner] of Object.entries(value)) yield* pathsOf(inner, [...path, key]);
}

/** The contract as JSON after `change` was made to the place that holds the last step of the path. */
function changed(
  path: Path,
  change: (holder: Record<string | number, unknown>, key: string | number) => void,
): string {
  const root = { contract: structuredClone(contract) as unknown };
  const steps = ["contract", ...path];
  let holder: Record<string | number, unknown> = root;
  for (const step of steps.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
  change(holder, steps.at(-1) ?? "");
  return JSON.stringify(root.contract) ?? "";
}

const fields = [...pathsOf(contract)];

describe("parseContract", () => {
  it("leaves what a newer version wrote to a newer version", () => {
    const newer = changed(["version"], (holder, key) => {
      holder[key] = 2;
    });
    expect(() => parseContract(newer)).toThrow(expect.objectContaining({ code: "contract-newer" }));
  });

  it("reads what was written", () => {
    expect(parseContract(JSON.stringify(contract))).toEqual(contract);
  });

  it("denies when any field is missing", () => {
    expect(fields.length).toBeGreaterThan(60);
    for (const path of fields) {
      const json = changed(path, (holder, key) => {
        delete holder[key];
      });
      expect(() => parseContract(json), path.join(".")).toThrow(/not allowed to do anything/);
    }
  });

  it("denies when any field is of another type", () => {
    const others = [{ odd: 1 }, [1, 2], true, -1, 1.5, "?", ["x", null]];
    for (const path of fields.slice(1)) {
      let accepted = 0;
      for (const other of others) {
        const json = changed(path, (holder, key) => {
          holder[key] = other;
        });
        try {
          parseContract(json);
          accepted++;
        } catch (error) {
          expect(error, path.join(".")).toMatchObject({ code: "contract-invalid" });
        }
      }
      // A text may be another text and a switch may be on; no field takes more kinds of value.
      expect(accepted, path.join(".")).toBeLessThanOrEqual(acceptable(path));
    }
  });

  it("denies when any object holds a field that it does not know", () => {
    const objects = fields.filter((path) => {
      const value = path.reduce<unknown>(
        (at, step) => (at as Record<string, unknown>)[step],
        contract,
      );
      return typeof value === "object" && value !== null && !Array.isArray(value);
    });
    for (const path of objects) {
      const json = changed([...path, "allow_everything"], (holder, key) => {
        holder[key] = true;
      });
      expect(() => parseContract(json), path.join(".")).toThrow(/not allowed to do anything/);
    }
  });

  it("denies what is not a contract at all", () => {
    for (const text of ["", "{", "null", "[]", '"*"', "1", "{}", `[${JSON.stringify(contract)}]`]) {
      expect(() => parseContract(text)).toThrow(/not allowed to do anything/);
    }
  });

  it("does not take another version's contract, or a prototype's fields, for its own", () => {
    const json = JSON.stringify(contract);
    expect(() => parseContract(json.replace('"version":1', '"version":2'))).toThrow();
    const withPrototype = json.replace('"version":1', '"version":1,"__proto__":{"admin":true}');
    expect(() => parseContract(withPrototype)).toThrow();
  });
});

function acceptable(path: Path): number {
  const name = path.join(".");
  // Numbers that need not be whole or positive: three of the values above are numbers of some kind.
  if (name === "model.temperature" || name === "budget.cost") return 2;
  return 1;
}
