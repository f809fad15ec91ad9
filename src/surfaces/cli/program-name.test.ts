import { expect, test } from "vitest";
import { programName } from "./process-io.ts";

test("the commands it tells people to type are those that work where they are", () => {
  const npm = { npm_package_name: "mandate", npm_lifecycle_event: "start" };
  expect(programName(npm, "/clone/dist/mandate.js")).toBe("npm run -s mandate --");
  expect(programName({}, "/usr/local/bin/mandate")).toBe("mandate");
  expect(programName({}, "/clone/dist/mandate.js")).toBe("node /clone/dist/mandate.js");
  const other = { npm_package_name: "my-app", npm_lifecycle_event: "ask" };
  expect(programName(other, "/my-app/node_modules/.bin/mandate")).toBe("mandate");
});
