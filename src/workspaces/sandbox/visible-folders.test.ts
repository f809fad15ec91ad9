import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { noteAgentFolder } from "../processes/agent-folders.ts";
import { findProgramPlaces, freshEnvironment } from "./sandbox.ts";

let home: string;

beforeEach(() => {
  home = testFolder();
});

function make(...folders: string[]): void {
  for (const folder of folders) mkdirSync(join(home, folder), { recursive: true });
}

const find = (...path: string[]) => findProgramPlaces({ HOME: home, PATH: path.join(":") });

describe("what is shown for the programs on PATH", () => {
  it("is their folders, and of version managers what holds programs", () => {
    make(".cargo/bin", ".cargo/registry", ".nvm/versions", ".nvm/.cache", ".pyenv/shims", "tools");
    const { folders, path, variables } = find("/usr/bin", `${home}/.cargo/bin`, `${home}/tools`);
    expect(folders.map((folder) => folder.slice(home.length))).toEqual([
      "/.nvm/versions",
      "/.pyenv",
      "/.cargo/bin",
      "/tools",
    ]);
    expect(path).toEqual(["/usr/bin", `${home}/.cargo/bin`, `${home}/tools`]);
    expect(variables).toEqual({ PYENV_ROOT: join(home, ".pyenv") });
  });

  it("is never a folder that depends on where a command runs, nor the home or what is around", () => {
    make("bin");
    symlinkSync(home, join(home, "bin/loop"));
    const asked = ["", ".", "bin", "/", home, join(home, ".."), `${home}/bin/loop`, "/none"];
    expect(find(...asked)).toEqual({ folders: [], path: [], variables: {} });
  });

  it("is the packages around the programs of packages", () => {
    make("app/node_modules/.bin");
    expect(find(`${home}/app/node_modules/.bin`).folders).toEqual([`${home}/app/node_modules`]);
  });
});

describe("the environment of a command", () => {
  it("holds what was chosen by name, and nothing else", () => {
    const ours = {
      ...{ PATH: "/usr/bin", LANG: "en_GB.UTF-8", TZ: "$(id)", GIT_DIR: "/x", SSH_AUTH_SOCK: "/s" },
      ...{ OPENAI_API_KEY: "k", LD_PRELOAD: "/x.so", NODE_OPTIONS: "-r x", BASH_ENV: "/x" },
    };
    const places = findProgramPlaces({ HOME: home, PATH: "/usr/bin:/bin" });
    expect(freshEnvironment(ours, places)).toEqual({
      LANG: "en_GB.UTF-8",
      PATH: "/usr/bin:/bin",
      HOME: "/home/agent",
      USER: "agent",
      LOGNAME: "agent",
      SHELL: "/bin/sh",
      TERM: "dumb",
      TMPDIR: "/tmp",
      GIT_TERMINAL_PROMPT: "0",
      GIT_CONFIG_COUNT: "2",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      GIT_CONFIG_KEY_1: "safe.bareRepository",
      GIT_CONFIG_VALUE_1: "explicit",
    });
  });

  it("finds no programs where the command itself may write", () => {
    make("work/bin", "tools");
    const places = find(`${home}/work/bin`, `${home}/tools`);
    noteAgentFolder(join(home, "work"));
    const { PATH } = freshEnvironment({}, places);
    expect(PATH).toBe(`${home}/tools`);
  });
});
