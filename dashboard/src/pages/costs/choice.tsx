interface ChoiceProps {
  readonly label: string;
  readonly options: Readonly<Record<string, string>>;
  readonly chosen: string;
  readonly onChoose: (word: string) => void;
}

/** A choice of one among a few words. */
export function Choice({ label, options, chosen, onChoose }: ChoiceProps) {
  return (
    <fieldset className="flex rounded-md border border-line p-0.5">
      <legend className="sr-only">{label}</legend>
      {Object.entries(options).map(([word, name]) => (
        <button
          key={word}
          type="button"
          aria-pressed={chosen === word}
          className="rounded-sm px-2 text-soft aria-pressed:bg-chosen aria-pressed:text-ink max-sm:py-1"
          onClick={() => onChoose(word)}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
