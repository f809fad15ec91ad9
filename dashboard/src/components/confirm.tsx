import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface ConfirmProps {
  readonly title: string;
  /** The sentences about the consequences of the action. */
  readonly children: ReactNode;
  /** The verb on the button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm(props: ConfirmProps) {
  const {
    title,
    children,
    action,
    isDangerous = false,
    isBusy = false,
    onConfirm,
    onClose,
  } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
      >
        <div className="px-5 py-2 text-soft">{children}</div>
        <div className="flex justify-end gap-2 px-5 pt-2 pb-4">
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" tone={isDangerous ? "danger" : "main"} disabled={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
