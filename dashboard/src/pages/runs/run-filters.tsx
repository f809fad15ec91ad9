import { useId, useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Button } from "../../components/button.tsx";
import type { RunQuery, RunRow } from "../../data/run-list.ts";
import { navigate, usePlace } from "../../router/router.ts";
import { readViews, type SavedView, writeViews } from "./saved-views.ts";

/** The filters of the list, as they are in the address: a view can be shared and saved. */
export const filterFields = [
  { name: "profile", label: "Agent", title: "Filter by agent" },
  { name: "model", label: "Model", title: "Filter by model" },
  { name: "workspace", label: "Folder", title: "Filter by folder" },
  { name: "startedBy", label: "Started by", title: "Filter by person" },
] as const;

export type FilterName = (typeof filterFields)[number]["name"];

const mostCharacters: Readonly<Record<FilterName, number>> = {
  ...{ profile: 64, model: 400, workspace: 4096, startedBy: 200 },
};
/** The pattern of profile names that the server uses. */
const profilePattern = /^[^\p{C}\p{Z}/\\]+$/u;

/** The filters in an address. What the server would refuse is left out. */
export function filtersIn(query: URLSearchParams): Pick<RunQuery, FilterName> {
  const filters: { [Name in FilterName]?: string } = {};
  for (const { name } of filterFields) {
    const value = query.get(name);
    if (value === null || value === "" || value.length > mostCharacters[name]) continue;
    if (name !== "profile" || profilePattern.test(value)) filters[name] = value;
  }
  return filters;
}

interface RunFiltersProps {
  /** The rows that are shown; their values are suggested. */
  readonly rows: readonly RunRow[];
  readonly profiles: readonly string[];
  readonly workspaces: readonly string[];
}

export function RunFilters({ rows, profiles, workspaces }: RunFiltersProps) {
  const { query } = usePlace();
  const known: Readonly<Record<FilterName, readonly string[]>> = {
    profile: profiles,
    model: [],
    workspace: workspaces,
    startedBy: [],
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      {filterFields.map(({ label, name, title }) => (
        <Filter
          key={`${name} ${query.get(name)}`}
          label={label}
          title={title}
          value={query.get(name) ?? ""}
          most={mostCharacters[name]}
          options={[...new Set([...known[name], ...rows.flatMap((row) => row[name] ?? [])])]}
          onChange={(value) => setWords({ [name]: value })}
        />
      ))}
      <SavedViews />
    </div>
  );
}

/** Changes words of the address, and keeps the others. */
export function setWords(words: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(words)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  navigate(`${location.pathname}${next.size === 0 ? "" : `?${next}`}`, { replace: true });
}

interface FilterProps {
  readonly label: string;
  readonly title: string;
  readonly value: string;
  readonly most: number;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

const mostOptions = 50;

function Filter({ label, title, value, most, options, onChange }: FilterProps) {
  const listId = useId();
  const [text, setText] = useState(value);
  const commit = (next: string): void => {
    if (next.trim() !== value) onChange(next.trim());
  };
  return (
    <span className="flex min-w-0 items-center">
      <input
        aria-label={title}
        placeholder={label}
        list={listId}
        maxLength={most}
        className={`h-7 w-28 min-w-0 rounded-md border bg-panel px-2 max-sm:h-9 ${value === "" ? "border-line" : "border-accent"}`}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          // Picking a suggestion, or clearing the field, applies at once; typing on Enter or blur.
          if (target.value === "" || options.includes(target.value)) commit(target.value);
        }}
        onBlur={() => commit(text)}
        onKeyDown={({ key }) => key === "Enter" && commit(text)}
      />
      <datalist id={listId}>
        {options.slice(0, mostOptions).map((option) => (
          <option key={option} value={option}>
            {harmlessLine(option, 100)}
          </option>
        ))}
      </datalist>
    </span>
  );
}

/** The person has just asked for this field. */
const focus = (field: HTMLInputElement | null): void => field?.focus();

function SavedViews() {
  const { query } = usePlace();
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState<string | null>(null);
  const address = query.toString();
  const current = views.find((view) => view.query === address);
  const change = (next: readonly SavedView[]): void => {
    writeViews(next);
    setViews(next);
    setName(null);
  };
  const save = (): void => {
    const title = name?.trim() ?? "";
    if (title === "") return;
    change([...views.filter((view) => view.name !== title), { name: title, query: address }]);
  };
  return (
    <>
      {views.length > 0 && (
        <select
          aria-label="Saved views"
          className="h-7 max-w-40 rounded-md border border-line bg-panel px-1.5 max-sm:h-9"
          value={current?.name ?? ""}
          onChange={({ target }) => {
            const view = views.find((one) => one.name === target.value);
            navigate(view === undefined || view.query === "" ? "/runs" : `/runs?${view.query}`);
          }}
        >
          <option value="">Saved views</option>
          {views.map((view) => (
            <option key={view.name} value={view.name}>
              {view.name}
            </option>
          ))}
        </select>
      )}
      {current !== undefined ? (
        <Button onClick={() => change(views.filter((view) => view !== current))}>
          Delete view
        </Button>
      ) : name !== null ? (
        <form
          className="flex gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <input
            aria-label="Name of the view"
            placeholder="Name of the view"
            maxLength={60}
            className="h-7 w-36 rounded-md border border-edge bg-panel px-2 max-sm:h-9"
            value={name}
            ref={focus}
            onChange={({ target }) => setName(target.value)}
            onKeyDown={({ key }) => key === "Escape" && setName(null)}
          />
          <Button type="submit" disabled={name.trim() === ""}>
            Save
          </Button>
        </form>
      ) : (
        address !== "" && <Button onClick={() => setName("")}>Save view</Button>
      )}
    </>
  );
}
