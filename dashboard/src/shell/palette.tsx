import { type KeyboardEvent, useId, useState } from "react";
import { Dialog } from "../components/dialog.tsx";
import { StateBadge, shownRunState } from "../components/state-badge.tsx";
import { Text } from "../components/text.tsx";
import { useRunList } from "../data/run-list.ts";
import { useValue } from "../data/value-store.ts";
import { navigate } from "../router/router.ts";
import { bindings } from "./keys.ts";
import { Keys } from "./keys-dialog.tsx";

const mostRuns = 30;

/** Everything that can be done or opened from here, by typing a part of it. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const base = useId();
  const { items: rows } = useRunList({});
  const all = useValue(bindings);
  const wanted = text.trim().toLowerCase();
  const fits = (words: string): boolean => words.toLowerCase().includes(wanted);
  const actions = [...new Map(all.map((binding) => [binding.label, binding])).values()]
    .filter(
      ({ keys, label }) => keys !== "mod+k" && keys !== "/" && !/^[jk]$/.test(keys) && fits(label),
    )
    .map(({ keys, label, run }) => ({ key: `${keys} ${label}`, keys, label, run, row: null }));
  const runs = rows
    .filter(({ runId, title }) => fits(`${runId} ${title}`))
    .slice(0, mostRuns)
    .map((row) => {
      return { key: row.runId, keys: "", label: row.title, run: () => open(row.runId), row };
    });
  const byId = /^r?[0-9a-f]{6}(?:[0-9a-f]{2})?$/.test(wanted) && runs.length === 0;
  const jump = { key: "id", keys: "", label: `Open ${wanted}`, run: () => open(wanted), row: null };
  const options =
    wanted === "" ? [...actions, ...runs] : [...(byId ? [jump] : []), ...runs, ...actions];
  const chosen = options[Math.min(index, options.length - 1)];

  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      const next = Math.min(Math.max(index + step, 0), options.length - 1);
      setIndex(next);
      document.getElementById(`${base}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && chosen) {
      event.preventDefault();
      onClose();
      chosen.run();
    }
  };

  return (
    <Dialog title="Search and commands" isTitleHidden onClose={onClose} className="mt-[12vh]">
      <input
        autoFocus
        role="combobox"
        aria-label="Search and commands"
        aria-expanded="true"
        aria-controls={`${base}-list`}
        aria-activedescendant={chosen && `${base}-${options.indexOf(chosen)}`}
        className="h-11 w-full border-b border-line bg-transparent px-4 text-sm outline-none"
        placeholder="A run, a page, an action…"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setIndex(0);
        }}
        onKeyDown={pressed}
      />
      {options.length === 0 && <p className="px-4 py-6 text-center text-soft">Nothing fits.</p>}
      <div
        role="listbox"
        id={`${base}-list`}
        aria-label="Results"
        className="max-h-[50vh] overflow-auto p-1.5"
      >
        {options.map((option, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          <div
            key={option.key}
            id={`${base}-${place}`}
            role="option"
            aria-selected={option === chosen}
            className="flex cursor-pointer items-center gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-chosen"
            onPointerMove={() => setIndex(place)}
            onClick={() => {
              onClose();
              option.run();
            }}
          >
            {option.row && <StateBadge state={shownRunState(option.row)} isShort />}
            <Text className="min-w-0 flex-1 truncate">{option.label}</Text>
            {option.row && <span className="font-mono text-xs text-soft">{option.row.runId}</span>}
            {option.keys !== "" && <Keys keys={option.keys} />}
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function open(id: string): void {
  navigate(id.startsWith("r") ? `/runs/${id}` : `/delegations/${id}`);
}
