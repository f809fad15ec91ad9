import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import { ConsentDialog } from "../../components/consent-dialog.tsx";
import { isSending } from "../../components/is-sending.ts";
import { LongText } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { modeWords, useFolders } from "../../data/folders.ts";
import { useAction } from "../../data/use-action.ts";
import { useValue, ValueStore } from "../../data/value-store.ts";
import { Link } from "../../router/link.tsx";
import { navigate } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import { ComposerChoices } from "./composer-choices.tsx";
import { SuggestionList } from "./suggestion-list.tsx";
import { type Suggestion, useSuggestions } from "./use-suggestions.ts";

interface Draft {
  readonly text: string;
  readonly caret: number;
}

const empty: Draft = { text: "", caret: 0 };

/** What is being written is still there when one has looked at another page. */
const kept = {
  draft: new ValueStore(empty),
  profile: new ValueStore(""),
  workspace: new ValueStore<string | undefined>(undefined),
};

/** Gives a task to an agent, or says a slash command. */
export function Composer() {
  const draft = useValue(kept.draft);
  const profile = useValue(kept.profile);
  const workspace = useValue(kept.workspace);
  const [index, setIndex] = useState(0);
  const [isOpen, setOpen] = useState(true);
  const [reply, setReply] = useState<{ readonly ok: boolean; readonly text: string } | null>(null);
  const base = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const { text } = draft;
  const found = useSuggestions(text, draft.caret, workspace);
  const suggestions = isOpen ? found : [];
  const chosen = suggestions[Math.min(index, suggestions.length - 1)];
  const isCommand = text.startsWith("/");
  const folders = useFolders().data?.items;
  const folder = folders?.find((one) => workspace === undefined || one.folder === workspace);
  const [isConsenting, setConsenting] = useState(false);
  useKeys([{ keys: "n", label: "New run", run: () => field.current?.focus() }]);

  // Where a picked suggestion leaves the caret, before anything is painted.
  const placed = useRef<Draft>(undefined);
  useLayoutEffect(() => {
    if (placed.current !== draft) return;
    field.current?.setSelectionRange(draft.caret, draft.caret);
  }, [draft]);

  const send = useAction(async (isAnswered = false) => {
    const said = text.trim();
    if (said === "") return;
    setConsenting(false);
    if (said.startsWith("/")) {
      const { ok, reply: words } = await client.executeCommand({ text: said, workspace });
      setReply({ ok, text: words });
      if (ok) kept.draft.set(empty);
      return;
    }
    if (folder?.mode === null && !isAnswered) {
      setConsenting(true);
      return;
    }
    const who = profile === "" ? {} : { profile };
    const { runId } = await client.startRun({ task: said, workspace, ...who });
    kept.draft.set(empty);
    kept.profile.set("");
    kept.workspace.set(undefined);
    navigate(`/runs/${runId}`);
  });

  const write = (next: Draft): void => {
    kept.draft.set(next);
    setIndex(0);
    setOpen(true);
  };
  const pick = (suggestion: Suggestion): void => {
    const next = { text: suggestion.text, caret: suggestion.caret };
    placed.current = next;
    write(next);
    field.current?.focus();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (chosen && step !== 0) {
      const next = (index + step + suggestions.length) % suggestions.length;
      setIndex(next);
      document.getElementById(`${base}-list-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (chosen && event.key === "Tab" && !event.shiftKey) {
      pick(chosen);
    } else if (event.key === "Escape") {
      if (chosen) setOpen(false);
      else field.current?.blur();
    } else if (isSending(event)) {
      if (chosen && isMeant(chosen, text)) pick(chosen);
      else void send.run();
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <section aria-label="New run" className="relative shrink-0 border-b border-line px-4 py-3">
      <div className="rounded-lg border border-edge bg-raised focus-within:border-accent">
        <textarea
          ref={field}
          aria-label="Task or command"
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={`${base}-list`}
          aria-activedescendant={chosen && `${base}-list-${suggestions.indexOf(chosen)}`}
          rows={Math.min(Math.max(text.split("\n", 10).length, 2), 10)}
          className="block w-full resize-none bg-transparent px-3 pt-2 outline-none"
          placeholder="What should be done? @ mentions a file, / is for commands."
          value={text}
          maxLength={1_000_000}
          onChange={({ target }) => write({ text: target.value, caret: target.selectionStart })}
          onSelect={({ currentTarget: { selectionStart: caret } }) =>
            caret !== kept.draft.get().caret && kept.draft.set({ ...kept.draft.get(), caret })
          }
          onKeyDown={pressed}
        />
        <div className="flex items-center gap-2 px-2 pb-2">
          <ComposerChoices
            profile={profile}
            onProfile={(name) => kept.profile.set(name)}
            workspace={workspace}
            onWorkspace={(folder) => kept.workspace.set(folder)}
            isCommand={isCommand}
          />
          {!isCommand && (folder?.mode === "copy" || folder?.mode === "read-only") && (
            <Link to="/system?tab=folders" className="truncate text-xs text-soft hover:underline">
              {modeWords[folder.mode].label}
            </Link>
          )}
          <span className="ml-auto text-xs text-soft max-sm:invisible max-sm:w-0 whitespace-nowrap overflow-hidden">
            Shift+Enter for a new line
          </span>
          <Button
            tone="main"
            disabled={text.trim() === "" || send.isBusy}
            onClick={() => void send.run()}
          >
            {isCommand ? "Run command" : "Start run"}
          </Button>
        </div>
      </div>
      {isConsenting && folder !== undefined && (
        <ConsentDialog
          row={folder}
          action="Start run"
          onDone={() => void send.run(true)}
          onClose={() => setConsenting(false)}
        />
      )}
      <SuggestionList
        id={`${base}-list`}
        items={suggestions}
        chosen={chosen}
        onPoint={setIndex}
        onPick={pick}
      />
      {reply && (
        <div
          role="status"
          className={`mt-2 flex items-start gap-2 rounded-md border border-line border-l-[3px] bg-page px-3 py-2 ${reply.ok ? "border-l-good" : "border-l-bad"}`}
        >
          <LongText className="flex-1">{reply.text}</LongText>
          <Button onClick={() => setReply(null)}>Close</Button>
        </div>
      )}
    </section>
  );
}

/** Enter takes a file; of a command only what completes its first word, so that it can be said. */
function isMeant({ kind, label }: Suggestion, text: string): boolean {
  return kind === "file" || (label.startsWith(text) && !text.includes(" "));
}
