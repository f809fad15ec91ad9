import { CopyButton } from "./copy-button.tsx";

/** Something to type in a terminal, copied by a click. */
export function CommandLine({ children }: { readonly children: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-2 rounded-sm bg-hover px-1.5">
      <code className="min-w-0 font-mono text-xs wrap-anywhere">{children}</code>
      <CopyButton text={children} what={children} />
    </span>
  );
}
