import { useEffect, useState } from "react";
import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import { formatElapsed, formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import type { FollowedEvent } from "../../../../../src/surfaces/client/mandate-client.ts";
import { Text } from "../../../components/text.tsx";
import { Icon } from "../../../shell/icon.tsx";
import { useKeys } from "../../../shell/keys.ts";
import { nextPlace, playPause } from "./play.ts";

interface RunSliderProps {
  readonly events: readonly FollowedEvent[];
  /** After how many events the run is shown; null: as it is now. */
  readonly position: number | null;
  readonly onPosition: (position: number | null) => void;
}

/** The run again, from its events: by hand, event by event, or by itself. */
export function RunSlider({ events, position, onPosition }: RunSliderProps) {
  const [isPlaying, setPlaying] = useState(false);
  const count = events.length;
  const place = Math.min(position ?? count, count);
  const shown = events[place - 1];
  const startedAt = events[0]?.at ?? 0;
  const lastAt = events.at(-1)?.at ?? startedAt;
  const go = (wanted: number): void => {
    setPlaying(false);
    onPosition(wanted >= count ? null : Math.max(wanted, 1));
  };
  const play = (): void => {
    if (!isPlaying && position === null) onPosition(1);
    setPlaying(!isPlaying);
  };
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => {
      const next = nextPlace(place, count);
      if (next >= count) setPlaying(false);
      onPosition(next >= count ? null : next);
    }, playPause(count));
    return () => clearTimeout(timer);
  }, [isPlaying, place, count, onPosition]);
  useKeys([
    { keys: "p", label: isPlaying ? "Replay: pause" : "Replay: play", run: play },
    { keys: ",", label: "Replay: event before", run: () => go(place - 1) },
    { keys: ".", label: "Replay: next event", run: () => go(place + 1) },
    ...(position === null
      ? []
      : [{ keys: "Escape", label: "Replay: back to now", run: () => go(count) }]),
  ]);
  // A run of a second is not over in no time.
  const tell = lastAt - startedAt < 60_000 ? formatSpan : formatElapsed;
  const time = tell((shown?.at ?? startedAt) - startedAt);
  const words = shown ? harmlessLine(shown.summary, 160) : "";
  return (
    <section
      aria-label="Replay"
      className={`sticky bottom-0 z-10 flex h-10 shrink-0 items-center gap-2 border-t border-line px-3 ${position === null ? "bg-panel" : "bg-chosen"}`}
    >
      <button
        type="button"
        className="rounded-md p-1.5 text-soft hover:bg-hover hover:text-ink"
        aria-label={isPlaying ? "Pause" : "Play"}
        title={`${isPlaying ? "Pause" : "Play"} (p)`}
        onClick={play}
      >
        <Icon path={isPlaying ? "M5.5 3.5v9M10.5 3.5v9" : "M5 3.5v9l7-4.5Z"} />
      </button>
      <input
        type="range"
        className="min-w-0 flex-1 accent-(--accent)"
        aria-label="Moment of the run"
        aria-valuetext={`Event ${place} of ${count}, ${time} after the start`}
        min={1}
        max={Math.max(count, 1)}
        value={place}
        onChange={({ target }) => go(Number(target.value))}
      />
      <span className="shrink-0 text-xs text-soft">
        {time} / {tell(lastAt - startedAt)}
      </span>
      {position === null ? (
        <span className="w-56 shrink-0 truncate text-xs text-soft max-md:hidden">
          Replay: drag, or press <kbd className="font-mono">,</kbd> and{" "}
          <kbd className="font-mono">.</kbd>
        </span>
      ) : (
        <span className="w-56 shrink-0 truncate text-xs max-md:hidden" title={words}>
          <span className="text-soft">{place}.</span> <Text>{words}</Text>
        </span>
      )}
    </section>
  );
}
