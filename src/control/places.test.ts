import { existsSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { createHome, findPlaces, userHomeOf } from "./places.ts";

test("each platform has its own data folder", () => {
  expect(findPlaces({}, "linux", "/home/u").home).toBe("/home/u/.local/share/mandate");
  expect(findPlaces({}, "darwin", "/Users/u").home).toBe(
    "/Users/u/Library/Application Support/mandate",
  );
  const windows = findPlaces({ LOCALAPPDATA: "/local", APPDATA: "/roaming" }, "win32", "/u");
  expect(windows.home).toBe("/local/mandate");
  expect(windows.userConfig).toBe("/roaming/mandate/config.yaml");
});

test("the home folder is the one that the environment names, where that is an absolute path", () => {
  expect(userHomeOf({ HOME: "/home/anna" }, "linux")).toBe("/home/anna");
  expect(userHomeOf({ USERPROFILE: "/u/anna", HOME: "/x" }, "win32")).toBe("/u/anna");
  for (const HOME of ["", "anna"]) expect(userHomeOf({ HOME }, "linux")).toBe(homedir());
  expect(findPlaces({ HOME: "/home/anna" }, "linux").userConfig).toBe(
    "/home/anna/.config/mandate/config.yaml",
  );
});

test("MANDATE_HOME wins over XDG_DATA_HOME, and a relative XDG folder is ignored", () => {
  const xdg = { XDG_DATA_HOME: "/data", XDG_CONFIG_HOME: "/config" };
  expect(findPlaces(xdg, "linux", "/home/u")).toMatchObject({
    home: "/data/mandate",
    database: "/data/mandate/mandate.db",
    userConfig: "/config/mandate/config.yaml",
    userAgents: "/config/mandate/agents",
    forbidden: ["/data/mandate", "/config/mandate"],
  });
  expect(findPlaces({ ...xdg, MANDATE_HOME: "/m" }, "linux", "/home/u").home).toBe("/m");
  const relative = findPlaces({ XDG_DATA_HOME: "data", MANDATE_HOME: "" }, "linux", "/home/u");
  expect(relative.home).toBe("/home/u/.local/share/mandate");
});

test("the home is created for this user alone, twice without harm", () => {
  const base = testFolder();
  const places = findPlaces({ MANDATE_HOME: join(base, "deep/home") });
  createHome(places);
  createHome(places);
  for (const folder of [places.home, places.artifacts, places.worktrees]) {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  }
});

test("a home that cannot be is an error that names it and says what to do", () => {
  const base = testFolder();
  writeFileSync(join(base, "file"), "");
  const impossible = [join(base, "file"), join(base, "file/below"), "/proc/mandate"];
  for (const home of impossible.filter((path) => path !== "/proc/mandate" || existsSync("/proc"))) {
    expect(() => createHome(findPlaces({ MANDATE_HOME: home }))).toThrow(
      expect.objectContaining({
        code: "database-unusable",
        message: expect.stringMatching(/cannot keep its data in .* set MANDATE_HOME/),
      }),
    );
  }
});
