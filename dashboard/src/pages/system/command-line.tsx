import { showToast } from "../../components/toast.tsx";

/** Something to type in a terminal, copied by a click. */
export function CommandLine({ children }: { readonly children: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(children);
      showToast("Copied.");
    } catch {
      showToast("This browser does not let the page copy.");
    }
  };
  return (
    <span className="inline-flex max-w-full items-center gap-2 rounded-sm bg-hover px-1.5">
      <code className="min-w-0 font-mono text-xs wrap-anywhere">{children}</code>
      <button
        type="button"
        className="shrink-0 text-xs text-accent hover:underline"
        aria-label={`Copy ${children}`}
        onClick={copy}
      >
        Copy
      </button>
    </span>
  );
}
