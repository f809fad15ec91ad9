import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFolder } from "../open-folder.ts";
import type { Generated, Plan } from "./generate.ts";
import type { LargeServer } from "./server.ts";
import { type CommandTime, timeCommand } from "./time-commands.ts";
import { type RequestTime, timeRequests } from "./time-requests.ts";

export interface StoreMeasure {
  readonly generated: Generated;
  readonly commands: readonly CommandTime[];
  /** A process that takes up what the killed one left, and the next one beside it. */
  readonly recovery: Omit<LargeServer, "url" | "token" | "link">;
  readonly secondWrote: number;
  readonly requests: readonly RequestTime[];
  readonly paintedMs: readonly number[];
}

export interface StoreOptions {
  readonly events: number;
  /** The command line's first file. */
  readonly binary: string;
  /** Kept when it is given, and not generated again. */
  readonly home: string | undefined;
  readonly print: (line: string) => void;
  /** How often each is tried; the middle counts. */
  readonly times: number;
  /** Opens the page of a run in a browser, so many times; undefined: nobody looks. */
  readonly paint?: ((link: string, path: string) => Promise<readonly number[]>) | undefined;
}

/** A home with so many events, and everything that people do with one. */
export async function measureStore(options: StoreOptions): Promise<StoreMeasure> {
  const folder = options.home ?? openFolder("store");
  mkdirSync(folder, { recursive: true });
  const servers: ChildProcess[] = [];
  try {
    const generated = await generate(folder, options.events);
    options.print(
      `generated ${generated.events} events in ${generated.runs} runs, ${generated.seconds.toFixed(0)} s`,
    );
    const { largestRun } = generated;
    const run = (words: readonly string[], times = options.times) =>
      timeCommand(options.binary, folder, words, times);
    const commands = [
      await run(["--version"]),
      await run(["ls"]),
      await run(["tree", largestRun]),
      await run(["verify"], 1),
    ];
    const server = await serve(folder, servers);
    const { link, token: _token, url: _url, ...recovery } = server;
    // Beside it, on the same home: what it has taken up is nobody else's.
    const { wrote: secondWrote } = await serve(folder, servers);
    servers.pop()?.kill("SIGKILL");
    const requests = await timeRequests(server, generated, options.times);
    const paintedMs =
      link === undefined || options.paint === undefined
        ? []
        : await options.paint(link, `/runs/${largestRun}`);
    return { generated, commands, recovery, secondWrote, requests, paintedMs };
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    if (options.home === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function generate(folder: string, events: number): Promise<Generated> {
  const note = join(folder, "generated.json");
  if (existsSync(note)) return JSON.parse(readFileSync(note, "utf8")) as Generated;
  const large = Math.min(1000, Math.ceil(events / 1000));
  const plan: Plan = { folder, events, largest: large, open: large };
  const child = fork(join(import.meta.dirname, "generate.ts"), [JSON.stringify(plan)]);
  const generated = await messageOf<Generated>(child);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  writeFileSync(note, JSON.stringify(generated));
  return generated;
}

async function serve(folder: string, servers: ChildProcess[]): Promise<LargeServer> {
  const child = fork(join(import.meta.dirname, "server.ts"), [folder]);
  servers.push(child);
  return messageOf<LargeServer>(child);
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const gone = once(child, "exit").then(([code]) => {
    throw new Error(`A process of the measure ended with ${code} too early.`);
  });
  const [message] = await Promise.race([once(child, "message"), gone]);
  gone.catch(() => undefined);
  return message as Message;
}
