import { requireRole } from "../../../control/records/principal.ts";
import type { Steering } from "../../steering.ts";
import { type AnyCommand, defineCommand } from "../command.ts";
import { idIn, splitFirstWord } from "../parse-id.ts";
import { startWork } from "./start-work.ts";

export interface WatchingCommand {
  readonly name: string;
  readonly profile: string;
  readonly about: string;
  /** It also takes a task, as a task of its own. */
  readonly takesTask: boolean;
}

type Given =
  | { readonly act: "on" | "off" | "toggle"; readonly id?: string }
  | { readonly act: "task"; readonly task: string };

/**
 * Has the session of the running root watched by a profile, or of what an id names; said twice, or
 * without a word, it is the switch that a hotkey needs. Any other text is a task.
 */
export function watchingCommand(about: WatchingCommand): AnyCommand {
  const { name, profile, takesTask } = about;
  return defineCommand<Given>({
    name,
    form: takesTask ? "[on|off] [id], or a task" : "[on|off] [id]",
    about: about.about,
    profile,
    takesLines: true,
    completes: [{ words: ["on", "off"] }, "open"],
    parse(rest) {
      if (rest === "") return { act: "toggle" };
      const [act, text] = splitFirstWord(rest);
      const id = idIn(text);
      if ((act === "on" || act === "off") && (text === "" || id !== undefined)) {
        return id === undefined ? { act } : { act, id };
      }
      if (takesTask) return { act: "task", task: rest };
      return { problem: "It takes on or off, and perhaps the id of a run or a delegation." };
    },
    async execute(given, { steering }, principal) {
      if (given.act === "task") {
        return startWork(steering, { profile, task: given.task, command: `/${name}` }, principal);
      }
      requireRole("start-work", principal);
      const id = given.id ?? (await steering.runAtWork());
      const present = await steering.watchers(id, profile);
      const isOn = given.act === "toggle" ? present.length === 0 : given.act === "on";
      return isOn ? begin(steering, id, profile, present) : end(steering, id, profile, present);
    },
  });
}

async function begin(
  steering: Steering,
  id: string,
  profile: string,
  [present]: readonly string[],
) {
  const watcher = present ?? (await steering.watch(id, profile));
  const reply =
    present === undefined
      ? `${profile}#${watcher} watches ${id}.`
      : `${profile}#${watcher} watches ${id} already.`;
  return { reply, data: { id, profile, watching: true, watchers: [watcher] } };
}

async function end(steering: Steering, id: string, profile: string, present: readonly string[]) {
  const watchers = present.length === 0 ? [] : await steering.unwatch(id, profile);
  const reply =
    watchers.length === 0
      ? `No ${profile} watches ${id}.`
      : `${watchers.map((one) => `${profile}#${one}`).join(", ")} no longer watches ${id}.`;
  return { reply, data: { id, profile, watching: false, watchers } };
}
