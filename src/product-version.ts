import { readFileSync } from "node:fs";

/** The version in package.json; src/ and dist/ lie side by side below it. */
export const productVersion: string = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
).version;
