import { Dialog } from "../components/dialog.tsx";
import { useValue } from "../data/value-store.ts";
import { bindings, shownKeys } from "./keys.ts";

export function Keys({ keys }: { readonly keys: string }) {
  return (
    <span className="inline-flex shrink-0 gap-1">
      {shownKeys(keys).map((key) => (
        <kbd
          key={key}
          className="min-w-5 rounded-sm border border-edge bg-panel px-1 text-center font-sans text-[11px] leading-[18px] text-soft"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}

export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const all = useValue(bindings);
  const shown = [...new Map(all.map((binding) => [binding.keys, binding])).values()];
  return (
    <Dialog title="Keys" onClose={onClose}>
      <ul className="max-h-[70vh] overflow-auto px-5 pt-2 pb-4">
        {shown.map(({ keys, label }) => (
          <li key={keys} className="flex items-center justify-between gap-4 py-1">
            <span>{label}</span>
            <Keys keys={keys} />
          </li>
        ))}
        <li className="flex items-center justify-between gap-4 py-1">
          <span>Open the row</span>
          <Keys keys="Enter" />
        </li>
      </ul>
    </Dialog>
  );
}
