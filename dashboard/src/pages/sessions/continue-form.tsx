import { type FormEvent, type KeyboardEvent, useState } from "react";
import { Button } from "../../components/button.tsx";
import { isSending } from "../../components/is-sending.ts";
import { ModelField } from "../../components/model-field.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { navigate } from "../../router/router.ts";

interface ContinueFormProps {
  readonly sessionId: string;
  readonly isOver: boolean;
}

/** A further message; it is a run of its own on the conversation so far. */
export function ContinueForm({ sessionId, isOver }: ContinueFormProps) {
  const [message, setMessage] = useState("");
  const [model, setModel] = useState("");
  const send = useAction(async () => {
    const { delegationId } = await client.continueSession({
      sessionId,
      message,
      ...(model.trim() !== "" && { modelOverride: model.trim() }),
    });
    setMessage("");
    navigate(`/sessions?session=${delegationId}`);
  });
  const isEmpty = message.trim() === "";
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (!isEmpty && isOver) void send.run();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (isSending(event)) {
      event.preventDefault();
      submit();
    }
  };
  return (
    <form
      className="flex shrink-0 flex-wrap items-end gap-2 border-t border-line px-4 py-2"
      onSubmit={submit}
    >
      <textarea
        aria-label="Message"
        placeholder={
          isOver
            ? "Continue with a message (Enter sends it)"
            : "The agent is still working. Stop or message it on the page of its run."
        }
        rows={2}
        disabled={!isOver}
        maxLength={1_000_000}
        className="min-h-9 min-w-0 flex-1 basis-60 resize-y rounded-md border border-edge bg-panel px-2 py-1 disabled:opacity-60"
        value={message}
        onChange={({ target }) => setMessage(target.value)}
        onKeyDown={pressed}
      />
      {isOver && <ModelField value={model} onChange={setModel} />}
      <Button type="submit" tone="main" disabled={isEmpty || !isOver || send.isBusy}>
        Send
      </Button>
    </form>
  );
}
