import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { programName } from "./process-io.ts";

const script = "/clone/dist/mandate.js";
const npm = {
  npm_package_name: "mandate",
  npm_package_json: "/clone/package.json",
  npm_lifecycle_event: "start",
};

test.each([
  [{ ...npm, INIT_CWD: "/clone/docs" }, script, "/clone", "npm run -s mandate --"],
  [{ ...npm, INIT_CWD: "/work" }, script, "/work", "npm --prefix /clone run -s mandate --"],
  [npm, "/clone/src/mandate.ts", "/clone", "npm run -s mandate --"],
  [{}, "/usr/local/bin/mandate", "/work", "mandate"],
  [npm, "/usr/local/bin/mandate", "/work", "mandate"],
  [{}, script, "/clone", "node /clone/dist/mandate.js"],
  [{}, "/my clone/dist/mandate.js", "/", "node '/my clone/dist/mandate.js'"],
  [{}, "/app/node_modules/.bin/mandate", "/app/src", "npx mandate"],
  [{}, "/app/node_modules/mandate/dist/mandate.js", "/app", "npx mandate"],
  [{}, "/home/.npm/_npx/1a/node_modules/.bin/mandate", "/work", "npx mandate"],
  [{}, "/usr/lib/node_modules/mandate/dist/mandate.js", "/work", "mandate"],
])("hints name the program as it can be typed: %j %s in %s: %s", (environment, path, cwd, name) => {
  expect(programName(environment, path, cwd)).toBe(name);
});

test("a link or a launcher on the PATH makes it mandate, if it is the first and leads here", () => {
  const folder = testFolder();
  const own = join(folder, "dist", "mandate.js");
  for (const name of ["dist", "link", "launcher", "other"]) mkdirSync(join(folder, name));
  writeFileSync(own, "", { mode: 0o755 });
  symlinkSync(own, join(folder, "link", "mandate"));
  const texts = { launcher: `#!/bin/sh\nexec node '${own}' "$@"\n`, other: "#!/bin/sh\n" };
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(folder, name, "mandate"), text);
    chmodSync(join(folder, name, "mandate"), 0o755);
  }
  const called = (...names: readonly string[]): string =>
    programName({ PATH: names.map((name) => join(folder, name)).join(":") }, own, "/");
  expect(called("dist", "link", "other")).toBe("mandate");
  expect(called("launcher")).toBe("mandate");
  expect(called("other", "link")).toBe(`node ${own}`);
});
