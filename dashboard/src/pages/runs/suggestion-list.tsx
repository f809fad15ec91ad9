import { Text } from "../../components/text.tsx";
import type { Suggestion } from "./use-suggestions.ts";

interface SuggestionListProps {
  /** The id of the list. Each option has this id, with the number of the option behind it. */
  readonly id: string;
  readonly items: readonly Suggestion[];
  readonly chosen: Suggestion | undefined;
  readonly onPoint: (index: number) => void;
  readonly onPick: (suggestion: Suggestion) => void;
}

/** Below the field, which keeps the focus and has the keys. */
export function SuggestionList({ id, items, chosen, onPoint, onPick }: SuggestionListProps) {
  return (
    <div
      role="listbox"
      id={id}
      aria-label={items[0]?.kind === "file" ? "Files" : "Commands"}
      hidden={items.length === 0}
      // Keyboard users can scroll it without choosing.
      tabIndex={0}
      className="absolute inset-x-4 top-full z-20 -mt-2 max-h-[min(18rem,40dvh)] overflow-auto rounded-lg border border-edge bg-raised p-1 shadow-xl"
    >
      {items.map((item, place) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
        <div
          key={item.label}
          id={`${id}-${place}`}
          role="option"
          aria-selected={item === chosen}
          className="flex cursor-pointer items-baseline gap-3 rounded-md px-2 py-1 aria-selected:bg-chosen max-sm:py-2"
          // The field must not lose the focus: on a phone its keyboard would go.
          onPointerDown={(event) => event.preventDefault()}
          onPointerMove={() => onPoint(place)}
          onClick={() => onPick(item)}
        >
          {item.kind === "file" ? (
            <FilePath path={item.label} />
          ) : (
            <>
              <Text className="max-w-1/2 shrink-0 truncate font-mono text-xs">{item.label}</Text>
              <Text className="min-w-0 flex-1 truncate text-soft">{item.description}</Text>
            </>
          )}
        </div>
      ))}
    </div>
  );
}

/** The name first: of a long path the end is what tells it from others. */
function FilePath({ path }: { readonly path: string }) {
  const slash = path.lastIndexOf("/");
  return (
    <>
      <Text className="max-w-2/3 shrink-0 truncate font-mono text-xs">{path.slice(slash + 1)}</Text>
      <Text className="min-w-0 flex-1 truncate font-mono text-xs text-soft">
        {path.slice(0, Math.max(slash, 0))}
      </Text>
    </>
  );
}
