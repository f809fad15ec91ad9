import type { CommandContext } from "../../application/commands/command.ts";
import { commandContext } from "../../application/commands/command-context.ts";
import { type Candidate, completeCommand } from "../../application/commands/complete-command.ts";
import { executeCommand, fromUser } from "../../application/commands/execute-command.ts";
import type { StartedRun } from "../cli/work-on.ts";
import type { ChatStore } from "./chat-store.ts";
import { chatWordsHelp, completeChatWord, explainChatWord, wordsOfChat } from "./chat-words.ts";
import type { ChatSetting } from "./conversation.ts";
import type { Entry } from "./entry.ts";
import type { LocalCommands } from "./local-commands.ts";

/** Slash commands: the same words and replies as on every surface. */
export class ChatCommands {
  readonly #setting: ChatSetting;
  readonly #store: ChatStore;
  readonly #onStart: (run: StartedRun) => void;

  readonly #local: LocalCommands;

  constructor(
    setting: ChatSetting,
    store: ChatStore,
    { local, onStart }: { local: LocalCommands; onStart: (run: StartedRun) => void },
  ) {
    this.#setting = setting;
    this.#store = store;
    this.#local = local;
    this.#onStart = onStart;
  }

  async execute(command: string): Promise<readonly Entry[]> {
    const explained = explainChatWord(command);
    if (explained !== undefined) return [{ kind: "reply", command, ...explained }];
    const local = await this.#local.execute(command);
    if (local !== undefined) return local;
    // Only text typed here, or a pressed hotkey, reaches this: it may be marked as from the user.
    const said = fromUser(command, this.#setting.principal);
    const { ok, reply } = await executeCommand(said, this.#context());
    const text = command === "/help" ? `${reply.trimEnd()}\n${chatWordsHelp}` : reply;
    return [{ kind: "reply", command, ok, text }];
  }

  async complete(typed: string): Promise<readonly Candidate[]> {
    const candidates = await completeCommand(typed, this.#context());
    return [...candidates, ...completeChatWord(typed), ...(await this.#local.complete(typed))];
  }

  #context(): CommandContext {
    const { place, principal, readOnly, runtime, workspace } = this.#setting;
    const here = commandContext(runtime, principal, {
      session: place,
      workspace,
      readOnly,
      run: this.#store.state.turn?.runId,
      onStart: this.#onStart,
    });
    return { ...here, otherWords: wordsOfChat };
  }
}
