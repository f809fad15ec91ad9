import { type FormEvent, type KeyboardEvent, useState } from "react";
import { type Delegation, shownName } from "../../../../src/events/delegation.ts";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Button } from "../../components/button.tsx";
import { isSending } from "../../components/is-sending.ts";
import { ModelField } from "../../components/model-field.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { navigate } from "../../router/router.ts";

interface ReplyFormProps {
  readonly root: Delegation;
  readonly all: readonly Delegation[];
}

const mostChoices = 200;

/** The next message: to a finished run as a new run of its session, to an open one as mail to an agent. */
export function ReplyForm({ root, all }: ReplyFormProps) {
  const [text, setText] = useState("");
  const [model, setModel] = useState("");
  const [to, setTo] = useState(root.id);
  const open = all.filter(({ status }) => status !== "closed").slice(0, mostChoices);
  const isOver = root.status === "closed";
  const receiver = open.find(({ id }) => id === to) ?? open[0];
  const isEmpty = text.trim() === "";
  const send = useAction(async () => {
    if (isOver) {
      const { runId } = await client.continueSession({
        sessionId: root.id,
        message: text,
        ...(model.trim() !== "" && { modelOverride: model.trim() }),
      });
      setText("");
      navigate(`/runs/${runId}`);
    } else if (receiver !== undefined) {
      await client.sendMessage({ delegationId: receiver.id, message: text });
      setText("");
      showToast(`Sent to ${receiver.id}: it reads the message before its next turn.`);
    }
  });
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (!isEmpty) void send.run();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (!isSending(event)) return;
    event.preventDefault();
    submit();
  };
  const label = isOver ? "Reply" : "Message to an agent";
  return (
    <form
      className="flex shrink-0 flex-wrap items-end gap-2 border-t border-line px-4 py-2"
      onSubmit={submit}
    >
      {!isOver && open.length > 1 && (
        <select
          aria-label="Send to"
          className="h-7 max-w-full min-w-0 rounded-md border border-edge bg-panel px-1.5 max-sm:h-9"
          value={receiver?.id}
          onChange={({ target }) => setTo(target.value)}
        >
          {open.map((delegation) => (
            <option key={delegation.id} value={delegation.id}>
              {harmlessLine(`${shownName(delegation)} ${delegation.id}: ${delegation.title}`, 80)}
            </option>
          ))}
        </select>
      )}
      <textarea
        aria-label={label}
        placeholder={
          isOver
            ? "Reply: continues this session in a new run (Enter sends)"
            : "Message: read before the agent's next turn (Enter sends)"
        }
        rows={2}
        maxLength={isOver ? 1_000_000 : 100_000}
        className="min-h-9 min-w-0 flex-1 basis-60 resize-y rounded-md border border-edge bg-panel px-2 py-1"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={pressed}
      />
      {isOver && <ModelField value={model} onChange={setModel} />}
      <Button type="submit" tone="main" disabled={isEmpty || send.isBusy}>
        Send
      </Button>
    </form>
  );
}
