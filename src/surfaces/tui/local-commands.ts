import type { Candidate } from "../../application/commands/complete-command.ts";
import { EngineSteering } from "../../application/engine-steering.ts";
import { keptWorkIn } from "../../application/kept-copies.ts";
import { KeptWork } from "../../application/kept-work/kept-work.ts";
import { findPlaces } from "../../control/places.ts";
import { atMost, atMostCost, spentOf, sumOf } from "../../events/spent.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { countOf, formatCost, formatTokens } from "../cli/amounts.ts";
import type { ChatSetting } from "./conversation.ts";
import { describeContext } from "./draw/draw-ledger.ts";
import type { Entry } from "./entry.ts";
import type { SessionFigures } from "./session-figures.ts";

/** The longest diff in the conversation. */
const maximumBytes = 60_000;

type Act = (words: readonly string[]) => Promise<readonly Entry[]>;

/** Commands about the work in this folder and this session, which only a chat has. */
export class LocalCommands {
  readonly #setting: ChatSetting;
  readonly #figures: SessionFigures;
  readonly #work: KeptWork;
  readonly #home: string;
  /** The model that the person chose in this chat. */
  model: string | undefined;

  constructor(setting: ChatSetting, figures: SessionFigures) {
    const { io, modelOverride, runtime } = setting;
    this.#setting = setting;
    this.#figures = figures;
    this.#home = findPlaces(io.environment).home;
    this.#work = new KeptWork({ store: runtime.store, home: this.#home });
    this.model = modelOverride;
  }

  readonly #acts: Readonly<Record<string, Act>> = {
    "/diff": ([id]) => (id === undefined ? this.#diffOfFolder() : this.#diffOf(id)),
    "/merge": (words) => this.#merge(words),
    "/discard": (words) => this.#discard(words),
    "/model": ([name]) => (name === undefined ? this.#listModels() : this.#choose(name)),
    "/cost": () => this.#cost(),
  };

  /** The answer to a command; undefined: it is no command of the chat. */
  async execute(command: string): Promise<readonly Entry[] | undefined> {
    const [word = "", ...words] = command.trim().split(/\s+/);
    const act = Object.hasOwn(this.#acts, word) ? this.#acts[word] : undefined;
    if (act === undefined) return undefined;
    try {
      return await act(words);
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      return [{ kind: "reply", command, ok: false, text: error.message }];
    }
  }

  /** What can stand behind a word of the chat. */
  async complete(typed: string): Promise<readonly Candidate[]> {
    const [, word = "", begun = ""] = /^(\/(?:diff|merge|discard|model)) (\S*)$/.exec(typed) ?? [];
    if (word === "") return [];
    const choices = word === "/model" ? this.#models() : await this.#kept();
    return choices
      .filter((choice) => choice.startsWith(begun))
      .map((choice) => ({ text: `${word} ${choice}`, description: "" }));
  }

  async #diffOfFolder(): Promise<readonly Entry[]> {
    const { runtime, workspace } = this.#setting;
    const { text, truncated } = await new EngineSteering(runtime, { workspace }).changes(undefined);
    const kept = (await this.#kept()).map(
      (id) => `Changes kept by ${id}: /diff ${id}, /merge ${id}`,
    );
    const state = [text === "" ? "Nothing in this folder is uncommitted." : "Not committed here:"];
    const cut = truncated ? ["The diff was cut: git diff shows all of it."] : [];
    const said = replied("/diff", [...state, ...cut, ...kept].join("\n"));
    return text === "" ? [said] : [said, { kind: "patch", text }];
  }

  async #diffOf(id: string): Promise<readonly Entry[]> {
    const diff = await this.#work.diff(id, { maximumBytes });
    const { delegationId, files, problems, source, status, text, truncated } = diff;
    const isKept = source === "copy" && status === "failed" && files.length > 0;
    const notes = [
      ...(files.length === 0
        ? [`${delegationId} has changed nothing.`]
        : [countOf(files.length, "file")]),
      ...problems,
      ...(truncated
        ? [`Cut here. All of it: ${this.#setting.io.program} diff ${delegationId}`]
        : []),
      ...(isKept ? [`Not merged yet: /merge ${delegationId} or /discard ${delegationId}`] : []),
    ];
    const said = replied(`/diff ${delegationId}`, notes.join("\n"));
    return text === "" ? [said] : [said, { kind: "patch", text }];
  }

  async #merge(words: readonly string[]): Promise<readonly Entry[]> {
    const { flags, id } = await this.#target("/merge", words, [
      ...["--any-path", "--skip-checks", "--with-configuration"],
    ]);
    const { principal, runtime } = this.#setting;
    const result = await this.#work.merge(id, principal, runtime, {
      anyPath: flags.has("--any-path"),
      skipChecks: flags.has("--skip-checks"),
      withConfiguration: flags.has("--with-configuration"),
    });
    const { delegationId, into } = result;
    const command = `/merge ${delegationId}`;
    if (result.status !== "merged") {
      const text = `${result.sentence}\nNothing was changed. Look at it: /diff ${delegationId}`;
      return [{ kind: "reply", command, ok: false, text }];
    }
    const files = result.files.map(({ after, before, path }) => {
      return `${before === null ? "A" : after === null ? "D" : "M"} ${path}`;
    });
    const sum = files.length === 0 ? "everything was there already" : countOf(files.length, "file");
    return [replied(command, [`Merged into ${into}: ${sum}`, ...files].join("\n"))];
  }

  async #discard(words: readonly string[]): Promise<readonly Entry[]> {
    const { flags, id } = await this.#target("/discard", words, ["--yes"]);
    const { principal } = this.#setting;
    const result = await this.#work.discard(id, principal, { deleteChanges: flags.has("--yes") });
    const command = `/discard ${result.delegationId}`;
    if (result.status === "kept") {
      const text = `${result.sentence}\nDelete them for good: ${command} --yes`;
      return [{ kind: "reply", command, ok: false, text }];
    }
    const lost =
      result.files.length === 0 ? "" : `, with ${countOf(result.files.length, "changed file")}`;
    return [replied(command, `Discarded the copy of ${result.delegationId}${lost}.`)];
  }

  /** The work that a command is about: the named one, or the only one that this session kept. */
  async #target(command: string, words: readonly string[], known: readonly string[]) {
    const flags = new Set(words.filter((word) => word.startsWith("-")));
    for (const flag of flags) {
      if (known.includes(flag)) continue;
      throw new MandateError(
        "usage",
        `${command} has no option ${flag}. Options: ${known.join(", ")}`,
      );
    }
    const [named, ...more] = words.filter((word) => !word.startsWith("-"));
    if (more.length > 0) throw new MandateError("usage", `${command} takes one id.`);
    if (named !== undefined) return { flags, id: named };
    const [id, ...others] = await this.#kept();
    if (id !== undefined && others.length === 0) return { flags, id };
    const which =
      id === undefined ? "This session kept no changes" : `Name one: ${[id, ...others].join(", ")}`;
    throw new MandateError("usage", `${which}. ${command} takes the id of a delegation.`);
  }

  /** The delegations of this session that failed and left changes in a copy. */
  async #kept(): Promise<readonly string[]> {
    const { store } = this.#setting.runtime;
    const kept: string[] = [];
    for (const runId of this.#figures.runIds) {
      const run = await store.readRun(runId).catch(() => undefined);
      if (run === undefined) continue;
      kept.push(...(await keptWorkIn({ store, home: this.#home }, run.delegations.values())));
    }
    return kept;
  }

  /** What can be chosen here: models of pools, as far as they can be reached. */
  #models(): readonly string[] {
    const { config, models } = this.#setting.runtime;
    const named = [models.defaultModel ?? "", ...Object.values(config.models.pools).flat()];
    return [...new Set(named)].filter((name) => {
      try {
        return name !== "" && models.resolve(name) !== undefined;
      } catch {
        return false;
      }
    });
  }

  async #listModels(): Promise<readonly Entry[]> {
    const { model } = this.#figures.figures;
    const { modelNotice } = this.#setting;
    if (modelNotice !== "") return [replied("/model", `Answers come from the ${modelNotice}.`)];
    const others = this.#models().map((name) => `${name === model ? "* " : "  "}${name}`);
    const how = "/model provider/model has another one answer your next messages.";
    return [
      replied("/model", [`Answers come from ${model || "no model"}.`, ...others, how].join("\n")),
    ];
  }

  async #choose(name: string): Promise<readonly Entry[]> {
    // Throws with what to set, or with the names that are allowed.
    this.#setting.runtime.models.resolve(name);
    this.model = name;
    this.#figures.choose(name);
    const text = `${name} answers from your next message on, if the contract allows it.`;
    return [replied(`/model ${name}`, text)];
  }

  async #cost(): Promise<readonly Entry[]> {
    const { context, model, spent } = this.#figures.figures;
    const { store } = this.#setting.runtime;
    const byProfile = new Map<string, ReturnType<typeof spentOf>[]>();
    for (const runId of this.#figures.runIds) {
      const run = await store.readRun(runId).catch(() => undefined);
      for (const delegation of run?.delegations.values() ?? []) {
        const known = byProfile.get(delegation.profile) ?? [];
        byProfile.set(delegation.profile, [...known, spentOf(delegation)]);
      }
    }
    const amounts = (sum: ReturnType<typeof sumOf>) =>
      `${atMost(`${formatTokens(sum.tokens)} tokens`, sum)}, ${atMostCost(formatCost(sum.cost), sum)}`;
    const window = context?.window === undefined ? "" : ` of ${formatTokens(context.window)}`;
    const share = window === "" || context === null ? "" : ` (${describeContext(context)})`;
    const lines = [
      `This session: ${amounts(spent)} in ${countOf(this.#figures.runIds.size, "run")}`,
      ...[...byProfile].map(([name, all]) => `- ${name}: ${amounts(sumOf(all))}`),
      `Model: ${model || "none"}`,
      ...(context === null
        ? []
        : [`Context: ${formatTokens(context.tokens)} tokens${window}${share}`]),
    ];
    return [replied("/cost", lines.join("\n"))];
  }
}

function replied(command: string, text: string): Entry {
  return { kind: "reply", command, ok: true, text };
}
