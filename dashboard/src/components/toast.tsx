import { useValue, ValueStore } from "../data/value-store.ts";
import { tellProblem } from "./problem.tsx";
import { Text } from "./text.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
}

const toasts = new ValueStore<readonly Toast[]>([]);
const noticeMs = 4000;
const problemMs = 12_000;
const mostToasts = 4;
let count = 0;

export function showToast(text: string): void {
  add(text, false);
}

/** What a person tried and the server refused. */
export function showProblem(error: unknown): void {
  add(tellProblem(error).detail, true);
}

function add(text: string, isProblem: boolean): void {
  count += 1;
  const toast = { id: count, text, isProblem };
  toasts.set([...toasts.get(), toast].slice(-mostToasts));
  setTimeout(() => remove(toast.id), isProblem ? problemMs : noticeMs);
}

function remove(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useValue(toasts);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-3 bottom-3 z-50 flex flex-col items-end gap-2"
    >
      {shown.map(({ id, isProblem, text }) => (
        <div
          key={id}
          className={`pointer-events-auto flex max-w-md items-start gap-3 rounded-md border border-edge bg-raised py-2 pr-2 pl-3 shadow-lg wrap-anywhere ${isProblem ? "border-l-[3px] border-l-bad" : ""}`}
        >
          <Text most={1000}>{text}</Text>
          <button
            type="button"
            aria-label="Dismiss"
            className="size-5 shrink-0 rounded-sm text-soft hover:text-ink"
            onClick={() => remove(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
