import { live } from "../data/live.ts";
import { useValue } from "../data/value-store.ts";
import { Account } from "./account.tsx";
import { Icon } from "./icon.tsx";
import { Keys } from "./keys-dialog.tsx";
import { switchTheme, theme } from "./theme.ts";

interface HeaderProps {
  readonly onSearch: () => void;
  readonly onKeys: () => void;
}

const words = {
  connecting: "Connecting",
  live: "Live",
  lost: "No connection",
  "signed-out": "Signed out",
};

export function Header({ onSearch, onKeys }: HeaderProps) {
  const status = useValue(live.status);
  const chosen = useValue(theme);
  const isLive = status === "live";
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line bg-page px-3">
      <button
        type="button"
        className="flex h-7 w-full max-w-sm min-w-0 items-center gap-2 rounded-md border border-line bg-panel px-2 text-soft hover:border-edge"
        onClick={onSearch}
      >
        <Icon path="M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM10 10l3.5 3.5" />
        <span className="flex-1 truncate text-left">Search and commands</span>
        <span className="max-sm:hidden">
          <Keys keys="mod+k" />
        </span>
      </button>
      <span className="ml-auto flex items-center gap-1.5 text-xs text-soft" title={words[status]}>
        <svg
          viewBox="0 0 8 8"
          className={`size-2 ${isLive ? "text-good" : "text-warn"}`}
          aria-hidden="true"
        >
          {isLive ? (
            <circle cx="4" cy="4" r="4" fill="currentColor" />
          ) : (
            <path d="M4 0 8 8H0Z" fill="currentColor" />
          )}
        </svg>
        <span className="max-sm:sr-only">{words[status]}</span>
      </span>
      <button
        type="button"
        className="rounded-md p-1.5 text-soft hover:bg-hover hover:text-ink"
        aria-label={`Light or dark: ${chosen}`}
        title={`Light or dark: ${chosen} (t)`}
        onClick={switchTheme}
      >
        <Icon path="M13.5 9.5A5.7 5.7 0 0 1 6.5 2.5a5.7 5.7 0 1 0 7 7Z" />
      </button>
      <button
        type="button"
        className="rounded-md p-1.5 text-soft hover:bg-hover hover:text-ink max-sm:hidden"
        aria-label="Keys"
        title="Keys (?)"
        onClick={onKeys}
      >
        <Icon path="M2 4.5h12v7H2ZM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h-.1M5.5 9.5h5" />
      </button>
      {status !== "signed-out" && <Account />}
    </header>
  );
}
