import { type KeyboardEvent, useId, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useResource } from "../../data/use-resource.ts";
import { navigate } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import { useCompletion } from "./use-completion.ts";

/** Gives a task to an agent, or says a slash command. */
export function Composer() {
  const [text, setText] = useState("");
  const [profile, setProfile] = useState("");
  const [index, setIndex] = useState(0);
  const [isOpen, setOpen] = useState(true);
  const [reply, setReply] = useState<{ readonly ok: boolean; readonly text: string } | null>(null);
  const base = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const profiles = useResource("profiles", (signal) => client.listProfiles({}, { signal }), {
    refreshOn: ({ type }) => type === "control.record_changed",
  });
  const found = useCompletion(text);
  const candidates = isOpen ? found : [];
  const chosen = candidates[Math.min(index, candidates.length - 1)];
  const isCommand = text.startsWith("/");
  useKeys([{ keys: "n", label: "New run", run: () => field.current?.focus() }]);

  const send = useAction(async () => {
    const said = text.trim();
    if (said === "") return;
    if (said.startsWith("/")) {
      const { ok, reply: words } = await client.executeCommand({ text: said });
      setReply({ ok, text: words });
      setText("");
      return;
    }
    const { runId } = await client.startRun({ task: said, ...(profile !== "" && { profile }) });
    setText("");
    navigate(`/runs/${runId}`);
  });

  const change = (next: string): void => {
    setText(next);
    setIndex(0);
    setOpen(true);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (chosen && step !== 0) {
      setIndex((index + step + candidates.length) % candidates.length);
    } else if (chosen && event.key === "Tab" && !event.shiftKey) {
      change(chosen.text);
    } else if (event.key === "Escape") {
      if (chosen) setOpen(false);
      else field.current?.blur();
    } else if (event.key === "Enter" && !event.shiftKey) {
      if (chosen?.text.startsWith(text) && !text.includes(" ")) change(`${chosen.text} `);
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
          aria-activedescendant={chosen && `${base}-${candidates.indexOf(chosen)}`}
          rows={Math.min(Math.max(text.split("\n").length, 2), 10)}
          className="block w-full resize-none bg-transparent px-3 pt-2 outline-none"
          placeholder="What should be done? Type / for commands."
          value={text}
          maxLength={1_000_000}
          onChange={({ target }) => change(target.value)}
          onKeyDown={pressed}
        />
        <div className="flex items-center gap-2 px-2 pb-2">
          <label className="sr-only" htmlFor={`${base}-profile`}>
            Agent
          </label>
          <select
            id={`${base}-profile`}
            className="h-7 max-w-48 min-w-0 rounded-md border border-line bg-panel px-1.5 text-soft hover:text-ink max-sm:h-9"
            value={profile}
            disabled={isCommand}
            onChange={({ target }) => setProfile(target.value)}
          >
            <option value="">Usual agent</option>
            {profiles.value?.items
              .filter(({ isHidden }) => !isHidden)
              .map(({ description, name }) => (
                <option key={name} value={name} title={description}>
                  {name}
                </option>
              ))}
          </select>
          <span className="ml-auto text-xs text-soft max-sm:invisible max-sm:w-0">
            Shift+Enter for a new line
          </span>
          <Button
            tone="main"
            disabled={text.trim() === "" || send.isBusy}
            onClick={() => void send.run()}
          >
            {isCommand ? "Say" : "Start run"}
          </Button>
        </div>
      </div>
      <div
        role="listbox"
        id={`${base}-list`}
        aria-label="Commands"
        hidden={candidates.length === 0}
        className="absolute inset-x-4 top-full z-20 -mt-2 max-h-72 overflow-auto rounded-lg border border-edge bg-raised p-1 shadow-xl"
      >
        {candidates.map((candidate, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          <div
            key={candidate.text}
            id={`${base}-${place}`}
            role="option"
            aria-selected={candidate === chosen}
            className="flex cursor-pointer items-baseline gap-3 rounded-md px-2 py-1 aria-selected:bg-chosen"
            onPointerMove={() => setIndex(place)}
            onClick={() => {
              change(`${candidate.text} `);
              field.current?.focus();
            }}
          >
            <Text className="max-w-1/2 shrink-0 truncate font-mono text-xs">{candidate.text}</Text>
            <Text className="min-w-0 flex-1 truncate text-soft">{candidate.description}</Text>
          </div>
        ))}
      </div>
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
