import { ServerProcess } from "../../tools/mcp/server-process.ts";
import { openShell } from "../../tools/shell/shell-fixture.test-support.ts";
import { runGit } from "../../workspaces/git/run-git.ts";

/**
 * A program of its own: what it inherits has to be open before it begins. Says, line by line, what
 * those that it starts find at the descriptors.
 */
const [root = "", script = ""] = process.argv.slice(2);

const shell = openShell({ root });
await say("shell", shell.run(script));
await shell.close();
const alias = `alias.look=!${script}`;
await say(
  "git",
  runGit(["-c", alias, "look"], { cwd: root }).then(({ stdout }) => `${stdout}`),
);
await say("server", askServer());

async function say(who: string, answer: Promise<string>): Promise<void> {
  const text = await answer.catch((error: unknown) => `failed: ${String(error)}`);
  process.stdout.write(`${JSON.stringify({ who, text })}\n`);
}

async function askServer(): Promise<string> {
  const lines: string[] = [];
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  const env = { PATH: "/usr/bin:/bin" };
  const how = { env, cwd: root, isOwn: true, searchPath: env.PATH };
  await ServerProcess.start(
    { kind: "stdio", command: "/bin/sh", args: ["-c", script], ...how },
    { folder: root, containment: undefined },
    { onLine: (line) => lines.push(line.toString()), onEnd },
  );
  // Nothing else keeps this process alive; whoever started it ends it when it takes too long.
  const timer = setInterval(() => undefined, 1000);
  await ended;
  clearInterval(timer);
  return lines.join("\n");
}
