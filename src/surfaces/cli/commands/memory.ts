import { Memories } from "../../../application/memories.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Memory } from "../../../ports/memory-store.ts";
import { countOf, formatAge } from "../amounts.ts";
import {
  type Arguments,
  anyWords,
  type Command,
  chosenFrom,
  flag,
  jsonOption,
  text,
} from "../command.ts";
import { shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, localUser } from "../io.ts";
import { indented, printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const memoryCommand: Command = {
  name: "memory",
  usage: "[options] [list [WORDS...] | show ID | promote ID... | forget ID...]",
  about:
    "Shows what agents saved with memory_save. A memory of a sub-agent is visible to itself and to the\n" +
    "agents above and below it in its run; promote shares it with every agent in its workspace, forget\n" +
    "hides it from all agents. Both cannot be undone, and are in the log.",
  options: {
    json: jsonOption,
    tag: text("TAG", "list only those with this tag"),
    limit: text("NUMBER", "how many at most (50)"),
    all: flag("also list forgotten and replaced memories"),
  },
  words: anyWords,
  examples: [
    "memory",
    "memory list build cache",
    "memory promote m4f2a1b",
    "memory forget m4f2a1b",
  ],
  run: (given, io) => {
    const [word, ...rest] = given.words;
    const perform = chosenFrom("memory", words, word);
    return withStore(io, async (store) => {
      const memories = new Memories(store, localUser);
      await perform(memories, { given, io, rest });
      return exitCode.done;
    });
  },
};

interface Asked {
  readonly given: Arguments;
  readonly io: Io;
  readonly rest: readonly string[];
}

const words: Readonly<Record<string, (memories: Memories, asked: Asked) => Promise<void>>> = {
  list,
  show,
  promote: (memories, asked) => decide(memories, asked, "promote"),
  forget: (memories, asked) => decide(memories, asked, "forget"),
};

const howTheyCome = "Agents save them with memory_save.";

async function list(memories: Memories, { given, io, rest }: Asked): Promise<void> {
  const tag = given.text("tag");
  const found = await memories.list({
    text: rest.join(" "),
    all: given.flag("all"),
    ...(tag !== undefined && { tags: [tag.toLowerCase()] }),
    limit: given.count("limit"),
  });
  if (given.flag("json")) return printJson(io, found);
  if (found.length === 0) {
    const isSearch = rest.length > 0 || tag !== undefined;
    io.stderr.write(
      isSearch ? "There are no such memories.\n" : `There are no memories. ${howTheyCome}\n`,
    );
  }
  const { glyphs, paint } = styleFor(io.stdout, io);
  const room = io.stdout.isTerminal ? Math.max(20, io.stdout.columns - 1) : 500;
  for (const memory of found) {
    const about = [
      paint.strong(memory.id),
      stateOf(memory),
      printableLine(memory.profile),
      formatAge(io.now() - memory.createdAt),
      ...memory.tags.map((each) => `#${printableLine(each)}`),
    ];
    io.stdout.write(`${about.join("  ")}\n`);
    io.stdout.write(`  ${shorten(printableLine(memory.text), room - 2, glyphs.ellipsis)}\n`);
  }
}

async function show(memories: Memories, { given, io, rest }: Asked): Promise<void> {
  const [id, ...more] = rest;
  if (id === undefined || more.length > 0) throw usage("show takes the id of one memory.");
  const memory = await memories.show(id);
  if (given.flag("json")) return printJson(io, memory);
  const when = (at: number): string => new Date(at).toISOString();
  const lines = [
    ["saved by", `${memory.profile} ${memory.delegationId}, run ${memory.runId}`],
    ["saved at", when(memory.createdAt)],
    ["workspace", memory.workspace ?? "none: for every workspace"],
    ["state", stateOf(memory)],
    ...(memory.key === null ? [] : [["key", memory.key]]),
    ...(memory.tags.length === 0 ? [] : [["tags", memory.tags.join(", ")]]),
    ...(memory.supersedes === null ? [] : [["replaced", memory.supersedes]]),
    ...(memory.promoted
      ? [["promoted", `${memory.promoted.by}, ${when(memory.promoted.at)}`]]
      : []),
    ...(memory.forgotten
      ? [["forgotten", `${memory.forgotten.by}, ${when(memory.forgotten.at)}`]]
      : []),
  ];
  const { paint } = styleFor(io.stdout, io);
  io.stdout.write(`${paint.strong(memory.id)}\n`);
  for (const [name = "", value = ""] of lines) {
    io.stdout.write(`${paint.dim(name.padEnd(10))} ${printableLine(value)}\n`);
  }
  io.stdout.write(`\n${indented(memory.text)}\n`);
}

async function decide(
  memories: Memories,
  { given, io, rest }: Asked,
  word: "promote" | "forget",
): Promise<void> {
  if (rest.length === 0) throw usage(`${word} takes the ids of memories.`);
  const decisions = [];
  for (const id of new Set(rest)) decisions.push(await memories[word](id));
  if (given.flag("json")) return printJson(io, decisions);
  const changed = decisions.filter(({ status }) => status !== "unchanged").length;
  for (const { memory, status } of decisions) {
    io.stdout.write(`${memory.id} ${status === "unchanged" ? `is ${stateOf(memory)}` : status}\n`);
  }
  if (changed < decisions.length) {
    io.stderr.write(`${countOf(decisions.length - changed, "memory", "memories")} unchanged.\n`);
  }
}

function stateOf({ forgotten, isSuperseded, promoted, scope }: Memory): string {
  if (forgotten !== null) return "forgotten";
  if (isSuperseded) return "replaced";
  return promoted === null ? scope : "promoted";
}

function usage(sentence: string): MandateError {
  return new MandateError("usage", `${sentence} \`mandate memory list\` has them.`);
}
