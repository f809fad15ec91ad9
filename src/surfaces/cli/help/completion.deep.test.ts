import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { childEnvironment } from "../../../testing/child-environment.test-support.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { until } from "../../../testing/until.ts";

const program = join(import.meta.dirname, "../../../mandate.ts");
const hasProgram = (name: string, flag = "--version"): boolean =>
  spawnSync(name, [flag]).status === 0;

/** Each shell without its own configuration, and how a person turns completion on in it. */
const shells = {
  bash: { start: "bash --norc", load: 'eval "$(mandate completion bash)"' },
  zsh: {
    start: "zsh -f",
    load: 'autoload -U compinit; compinit -u; eval "$(mandate completion zsh)"',
  },
  fish: { start: "fish --no-config", load: "mandate completion fish | source" },
};

for (const [name, { load, start }] of Object.entries(shells)) {
  test.skipIf(!hasProgram("tmux", "-V") || !hasProgram(name))(
    `${name} completes commands, options, names of profiles and of files when Tab is pressed`,
    async () => {
      const folder = testFolder();
      writeFileSync(join(folder, "book.yaml"), "");
      writeFileSync(
        join(folder, "mandate"),
        `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`,
      );
      chmodSync(join(folder, "mandate"), 0o755);
      const environment = {
        HISTFILE: "",
        HOME: folder,
        MANDATE_HOME: folder,
        XDG_CONFIG_HOME: folder,
      };
      const path = `${folder}:${childEnvironment["PATH"]}`;
      const env = { ...childEnvironment, ...environment, PATH: path, TERM: "screen" };
      spawnSync(join(folder, "mandate"), ["ls"], { env });
      const tmux = (...words: readonly string[]): string =>
        spawnSync("tmux", ["-S", join(folder, "tmux"), "-f", "/dev/null", ...words], {
          cwd: folder,
          encoding: "utf8",
          env,
        }).stdout;
      tmux("new-session", "-d", "-x", "100", "-y", "40", start);
      onTestFinished(() => void tmux("kill-server"));
      const sees = (text: string, isThere = true): Promise<unknown> =>
        until(
          `${name} ${isThere ? "shows" : "has removed"} ${text}`,
          () => tmux("capture-pane", "-p").includes(text) === isThere,
        );
      const types = (text: string): string => tmux("send-keys", "-l", text);
      // The quotes keep the typed line from looking like its output.
      types(`${load}; echo "rea""dy"\r`);
      await sees("ready");
      for (const [typed, completed] of [
        ["mandate veri", "mandate verify"],
        ["mandate ls --li", "mandate ls --limit"],
        ["mandate run -p rese", "mandate run -p researcher"],
        ["mandate run --playbook bo", "mandate run --playbook book.yaml"],
        ["mandate run --profile=rese", "mandate run --profile=researcher"],
      ] as const) {
        types(typed);
        await sees(typed);
        types("\t");
        await sees(completed);
        // A shell that is interrupted may drop what is typed next: the line is deleted instead.
        tmux("send-keys", "C-u");
        await sees(typed, false);
      }
    },
  );
}
