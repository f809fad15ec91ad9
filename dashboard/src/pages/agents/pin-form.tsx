import { type FormEvent, useId, useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Button } from "../../components/button.tsx";
import { Text } from "../../components/text.tsx";
import type { Me } from "../../data/use-me.ts";
import { keyOfPlace, type PinPlace, placesFor, sessionPlace } from "./pin-scopes.ts";

interface PinFormProps {
  readonly me: Me | undefined;
  readonly profiles: readonly string[];
  readonly isBusy: boolean;
  /** The profile that another person pinned in between; empty: they removed the pin. */
  readonly conflict: string | null;
  readonly onSave: (place: PinPlace, profileId: string) => void;
  readonly onTakeTheirs: () => void;
}

const field = "flex min-w-0 max-w-full flex-col gap-1 text-xs text-soft";
const look =
  "h-7 max-w-full min-w-0 rounded-md border border-edge bg-panel px-1.5 text-sm text-ink max-sm:h-9";

export function PinForm(props: PinFormProps) {
  const { me, profiles, isBusy, conflict, onSave, onTakeTheirs } = props;
  const base = useId();
  const places = placesFor(me);
  const [place, setPlace] = useState("");
  const [profile, setProfile] = useState("");
  const [session, setSession] = useState("");
  if (me === undefined) return null;
  const chosen = places.find((one) => keyOfPlace(one) === place) ?? places[0];
  const isSession = chosen?.scope === "session";
  const isWrong = isSession && session !== "" && sessionPlace(me, session) === undefined;
  const where = isSession ? sessionPlace(me, session) : chosen;
  const who = profile === "" ? profiles[0] : profile;
  const save = (event?: FormEvent): void => {
    event?.preventDefault();
    if (where !== undefined && who !== undefined) onSave(where, who);
  };
  return (
    <form className="flex flex-wrap items-end gap-3" onSubmit={save}>
      <div className={field}>
        <label htmlFor={`${base}-profile`}>Agent</label>
        <select
          id={`${base}-profile`}
          className={look}
          value={who}
          onChange={({ target }) => setProfile(target.value)}
        >
          {profiles.map((name) => (
            <option key={name} value={name}>
              {harmlessLine(name, 64)}
            </option>
          ))}
        </select>
      </div>
      <div className={field}>
        <label htmlFor={`${base}-place`}>Applies to</label>
        <select
          id={`${base}-place`}
          className={look}
          value={chosen && keyOfPlace(chosen)}
          onChange={({ target }) => setPlace(target.value)}
        >
          {places.map((one) => (
            <option key={keyOfPlace(one)} value={keyOfPlace(one)}>
              {harmlessLine(one.label, 100)}
            </option>
          ))}
        </select>
      </div>
      {isSession && (
        <div className={field}>
          <label htmlFor={`${base}-session`}>Name of the session</label>
          <input
            id={`${base}-session`}
            maxLength={200}
            aria-invalid={isWrong}
            aria-describedby={isWrong ? `${base}-wrong` : undefined}
            className={`${look} ${isWrong ? "border-bad" : ""}`}
            value={session}
            onChange={({ target }) => setSession(target.value)}
          />
        </div>
      )}
      <Button type="submit" disabled={isBusy || who === undefined || where === undefined}>
        Pin
      </Button>
      {isWrong && (
        <span id={`${base}-wrong`} role="alert" className="basis-full text-xs text-bad">
          A name has 1 to 200 visible characters.
        </span>
      )}
      {conflict !== null && (
        <span role="alert" className="flex flex-wrap items-center gap-2 text-warn">
          Another person {conflict === "" ? "removed it" : "pinned "}
          {conflict !== "" && <Text className="font-semibold">{conflict}</Text>} in between.
          <Button onClick={onTakeTheirs}>Take theirs</Button>
          <Button type="submit">Keep mine</Button>
        </span>
      )}
    </form>
  );
}
