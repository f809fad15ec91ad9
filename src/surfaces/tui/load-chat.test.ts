import { expect, test } from "vitest";
import { withoutPackages } from "../../testing/without-packages.test-support.ts";
import { loadChat } from "./load-chat.ts";

const load = `await (await import("./surfaces/tui/load-chat" + ".ts")).${loadChat.name}();`;

test("without the packages that draw, chat says what to install", () => {
  const said =
    /^MandateError chat needs packages .*: npm install ink markdown-it react .* use run "…", and run --continue/;
  expect(withoutPackages(["ink", "markdown-it", "react"], load)).toMatch(said);
  expect(withoutPackages(["react"], load)).toMatch(said);
  expect(withoutPackages([], `${load} console.log("loaded");`)).toBe("loaded\n");
});

test("what else is missing is not taken for them", () => {
  expect(withoutPackages(["./chat-app.ts"], load)).toMatch(/^Error Cannot find package/);
});
