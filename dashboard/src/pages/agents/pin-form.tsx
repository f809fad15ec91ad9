import { type FormEvent, useState } from "react";
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

const look = "h-7 max-w-full min-w-0 rounded-md border border-edge bg-panel px-1.5 max-sm:h-9";

export function PinForm(props: PinFormProps) {
  const { me, profiles, isBusy, conflict, onSave, onTakeTheirs } = props;
  const places = placesFor(me);
  const [place, setPlace] = useState("");
  const [profile, setProfile] = useState("");
  const [session, setSession] = useState("");
  if (me === undefined) return null;
  const chosen = places.find((one) => keyOfPlace(one) === place) ?? places[0];
  const isSession = chosen?.scope === "session";
  const where = isSession ? sessionPlace(me, session) : chosen;
  const who = profile === "" ? profiles[0] : profile;
  const save = (event?: FormEvent): void => {
    event?.preventDefault();
    if (where !== undefined && who !== undefined) onSave(where, who);
  };
  return (
    <form className="flex flex-wrap items-center gap-2" onSubmit={save}>
      <select
        aria-label="Profile to pin"
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
      <select
        aria-label="Where the pin counts"
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
      {isSession && (
        <input
          aria-label="Name of the session"
          placeholder="Name of the session"
          maxLength={200}
          className={look}
          value={session}
          onChange={({ target }) => setSession(target.value)}
        />
      )}
      <Button type="submit" disabled={isBusy || who === undefined || where === undefined}>
        Pin
      </Button>
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
