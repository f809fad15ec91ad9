import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "smol-toml";
import {
  applied,
  entryAt,
  insertJson,
  readJsonObject,
  removeJson,
} from "../../../src/surfaces/cli/init/edit-json.ts";
import { insertToml, removeToml } from "../../../src/surfaces/cli/init/edit-toml.ts";
import { attempt } from "../expect-refusal.ts";
import { mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";

const entry = { command: "mandate", args: ["mcp"] };

export const clientJson = defineTarget({
  name: "client-json",
  surface: "config",
  promise:
    "our entry is set in other programs' JSON and nothing else is changed, or the file is refused",
  cases: 250,
  open: () => ({
    inputs: mutatedText(
      [
        '{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x"},\n  },\n  "a": [1, 2],\n}',
        "{}",
        "",
        '{"mcpServers":{"mandate":{"command":"old"}}}',
      ],
      ['"mcpServers"', '"mandate": 1,', "/* */", "// x\n", "{", "}", "[", "null", '"a":1,'],
    ),
    async check(text: string) {
      const path = ["mcpServers", "mandate"];
      const read = await attempt(() => readJsonObject(text, "a.json"), "a.json");
      if ("refusal" in read || !isHolder(read.value["mcpServers"])) return;
      const isThere = entryAt(read.value, path) !== undefined;
      const base = isThere ? removeJson(text, path, path.length) : text;
      assert.deepEqual(without(readJsonObject(base, "a.json")), without(read.value));
      const { depth, ...edit } = insertJson(base, path, entry);
      const changed = applied(base, edit);
      const set = readJsonObject(changed, "a.json");
      assert.deepEqual(entryAt(set, path), entry);
      assert.deepEqual(without(set), without(read.value));
      const left = readJsonObject(removeJson(changed, path, depth), "a.json");
      assert.equal(entryAt(left, path), undefined);
      assert.deepEqual(without(left), without(read.value));
      // What was there is still there, byte for byte and in its order.
      assert.equal(isWithin(base.replaceAll(/\s/g, ""), changed.replaceAll(/\s/g, "")), true);
    },
  }),
});

/** Whether the letters of the first text are in the second one, in that order. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole.split("")) if (letter === part[at]) at++;
  return at === part.length;
}

function isHolder(value: unknown): boolean {
  return (
    value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value))
  );
}

function without(value: Readonly<Record<string, unknown>>): unknown {
  const { mcpServers, ...others } = value;
  const { mandate: _, ...siblings } = (mcpServers ?? {}) as Record<string, unknown>;
  return { others, siblings };
}

export const clientToml = defineTarget({
  name: "client-toml",
  surface: "config",
  promise:
    "our table is set in other programs' TOML and nothing else is changed, or the file is refused",
  cases: 250,
  open: () => ({
    inputs: fc.oneof(
      mutatedText(
        [
          '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\nargs = ["a"]\n\n[mcp_servers.mandate]\ncommand = "old"\n[mcp_servers.mandate.env]\nA = "b"\n',
          "",
          'text = """\n[mcp_servers.mandate]\n"""\n',
        ],
        [
          "[mcp_servers]\n",
          "[mcp_servers.mandate]\n",
          "mandate = 1\n",
          '"""',
          "'''",
          "[[a]]\n",
          "a.b.c = 1\n",
          "inf",
          "1979-05-27",
          "mcp_servers = {}\n",
          '[mcp_servers."mandate"]\n',
        ],
      ),
    ),
    async check(text: string) {
      const path = ["mcp_servers", "mandate"];
      const base = await attempt(() => removeToml(text, path, "a.toml"), "a.toml");
      if ("refusal" in base) return;
      const edit = await attempt(() => insertToml(base.value, path, entry, "a.toml"), "a.toml");
      if ("refusal" in edit) return;
      const set = parse(applied(base.value, edit.value));
      assert.deepEqual({ ...(entryAt(set, path) as object) }, entry);
    },
  }),
});
