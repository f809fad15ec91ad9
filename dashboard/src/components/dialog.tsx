import { type ReactNode, useEffect, useId, useRef } from "react";

interface DialogProps {
  readonly title: string;
  /** The heading is for those who cannot see the dialog. */
  readonly isTitleHidden?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string;
}

/** The browser's own: it keeps the focus inside, gives it back, and closes by Escape. */
export function Dialog({
  title,
  isTitleHidden = false,
  onClose,
  children,
  className = "",
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same, and is the dialog's own.
    <dialog
      ref={element}
      aria-labelledby={headingId}
      className={`m-auto w-[min(36rem,calc(100vw-1.5rem))] rounded-lg border border-edge bg-raised p-0 text-ink shadow-2xl backdrop:bg-black/40 ${className}`}
      onClose={() => {
        // By the browser alone, which a second Escape makes it do.
        if (element.current?.open === false) onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <h2 id={headingId} className={isTitleHidden ? "sr-only" : "px-5 pt-4 text-sm font-semibold"}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
