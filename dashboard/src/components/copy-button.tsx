import { harmlessText } from "../../../src/sessions/harmless-text.ts";
import { showToast } from "./toast.tsx";

interface CopyButtonProps {
  readonly text: string;
  /** For those who cannot see what the button belongs to. */
  readonly what: string;
  readonly className?: string;
}

export function CopyButton({ text, what, className = "text-accent" }: CopyButtonProps) {
  return (
    <button
      type="button"
      className={`shrink-0 text-xs hover:underline ${className}`}
      aria-label={`Copy ${what}`}
      onClick={() => void copyText(text)}
    >
      Copy
    </button>
  );
}

/** What is copied is what a person sees: hidden characters are visible ones. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(harmlessText(text));
    showToast("Copied.");
  } catch {
    // Browsers keep the clipboard from pages that came over an unencrypted network.
    showToast("This browser does not let the page copy. Select the text instead.");
  }
}
