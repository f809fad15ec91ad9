import { useState } from "react";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Text } from "../components/text.tsx";
import { signOut } from "../data/begin-session.ts";
import { useAction } from "../data/use-action.ts";
import { useMe } from "../data/use-me.ts";
import { Icon } from "./icon.tsx";

/** The name of the signed-in token, and how to sign out. */
export function Account() {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const { isBusy, run } = useAction(async () => {
    const problem = await signOut();
    if (problem !== undefined) throw new Error(problem);
    // Nothing that this session loaded is left in the page.
    location.assign("/");
  });
  if (me === undefined) return null;
  return (
    <>
      <button
        type="button"
        className="flex min-w-0 items-center gap-1.5 rounded-md p-1.5 text-soft hover:bg-hover hover:text-ink"
        aria-label={`Account: ${me.id}, ${me.role}`}
        title={`${me.id} (${me.role})`}
        onClick={() => setOpen(true)}
      >
        <Icon path="M8 2.5a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM2.8 13.8a5.3 5.3 0 0 1 10.4 0" />
        <Text className="max-w-32 truncate text-xs max-md:hidden">{me.id}</Text>
      </button>
      {isOpen && (
        <Dialog title="Account" onClose={() => setOpen(false)}>
          <p className="px-5 py-3">
            Signed in as <Text className="font-medium">{me.id}</Text>, role {me.role}.{" "}
            {me.allRuns ? "You see all runs." : "You see your own runs."}
          </p>
          <div className="flex justify-end gap-2 px-5 pb-4">
            <Button onClick={() => setOpen(false)}>Close</Button>
            <Button tone="main" disabled={isBusy} onClick={() => void run()}>
              Sign out
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
