import { type FormEvent, useEffect, useState } from "react";
import { Button } from "../components/button.tsx";
import { CommandLine } from "../components/command-line.tsx";
import { Text } from "../components/text.tsx";
import { linkProblem, readLinkCommand, signIn } from "../data/begin-session.ts";
import { client } from "../data/client.ts";
import { live } from "../data/live.ts";
import { queryClient } from "../data/query-client.ts";
import { useAction } from "../data/use-action.ts";
import type { Me } from "../data/use-me.ts";
import { useValue } from "../data/value-store.ts";

/** Shown without a valid session. What was written on the page is kept, and there after the sign-in. */
export function SignIn() {
  const ofLink = useValue(linkProblem);
  const [refused, setRefused] = useState("");
  const [typed, setTyped] = useState("");
  const [command, setCommand] = useState("mandate serve --link");
  useEffect(() => void readLinkCommand().then(setCommand), []);
  const problem = refused || ofLink;
  const { isBusy, run } = useAction(async () => {
    const refusal = await signIn(typed);
    setRefused(refusal ?? "");
    if (refusal !== undefined) return;
    setTyped("");
    await forgetOthers();
    live.hurry();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (typed.trim() !== "") void run();
  };
  return (
    <div className="mx-auto w-full max-w-md px-6 py-14">
      <h1 className="text-base font-semibold">Sign in to Mandate</h1>
      {problem !== "" && (
        <p
          role="alert"
          id="sign-in-problem"
          className="mt-3 rounded-md border border-line border-l-[3px] border-l-bad bg-page px-3 py-2 wrap-anywhere"
        >
          <Text>{problem}</Text>
        </p>
      )}
      <form className="mt-4" onSubmit={submit}>
        <label htmlFor="sign-in-secret" className="font-medium">
          Access token or sign-in code
        </label>
        <div className="mt-1.5 flex gap-2">
          <input
            id="sign-in-secret"
            type="password"
            autoComplete="current-password"
            autoCapitalize="off"
            spellCheck={false}
            maxLength={600}
            aria-describedby={problem === "" ? undefined : "sign-in-problem"}
            className="h-8 min-w-0 flex-1 rounded-md border border-edge bg-raised px-2 font-mono max-sm:h-9"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <Button
            tone="main"
            type="submit"
            className="h-8"
            disabled={isBusy || typed.trim() === ""}
          >
            {isBusy ? "Signing in" : "Sign in"}
          </Button>
        </div>
      </form>
      <p className="mt-6 text-soft">To get a new sign-in link and code, run this on the server:</p>
      <p className="mt-1.5">
        <CommandLine>{command}</CommandLine>
      </p>
      <p className="mt-4 text-soft">An admin creates a token for another person:</p>
      <p className="mt-1.5">
        <CommandLine>mandate token create NAME --role viewer</CommandLine>
      </p>
      <p className="mt-6 text-xs text-soft">
        A session lasts twelve hours, and ends when its token is revoked. It survives a restart of
        the server. Signing in once is enough for all tabs of this browser.
      </p>
    </div>
  );
}

/** Answers that another person's session loaded are not shown to this one. */
async function forgetOthers(): Promise<void> {
  const before = queryClient.getQueryData<Me>(["me"]);
  const now = await client.getMe({});
  if (before !== undefined && before.id !== now.id) location.reload();
}
