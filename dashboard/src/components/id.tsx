import { showToast } from "./toast.tsx";

/** An id of ours, copied by a click. */
export function Id({ id }: { readonly id: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(id);
      showToast(`${id} is copied.`);
    } catch {
      // Browsers keep the clipboard from pages that came over an unencrypted network.
      showToast(`This browser does not let the page copy. The id is ${id}.`);
    }
  };
  return (
    <button
      type="button"
      className="rounded-sm font-mono text-xs text-soft hover:text-ink"
      title="Copy"
      aria-label={`Copy ${id}`}
      onClick={copy}
    >
      {id}
    </button>
  );
}
