import { useId } from "react";
import { harmlessLine } from "../../../src/sessions/harmless-text.ts";
import { client } from "../data/client.ts";
import { useLiveQuery } from "../data/use-live-query.ts";
import { localServers } from "../pages/system/plug-in.ts";

interface ModelFieldProps {
  /** Empty: the model of the session so far. */
  readonly value: string;
  readonly onChange: (model: string) => void;
}

const staleMs = 60_000;
const mostOffered = 100;

/** The model of the next message. Pools and models that can be used now are offered; any other can be typed. */
export function ModelField({ value, onChange }: ModelFieldProps) {
  const listId = useId();
  const { data } = useLiveQuery({
    key: ["system"],
    load: (signal) => client.getSystem({}, { signal }),
    staleMs,
  });
  const pools = data?.models.pools.filter(({ first }) => first !== null) ?? [];
  const local = localServers(data?.models.local ?? []).flatMap(({ models, provider }) =>
    models.map((model) => `${provider}/${model}`),
  );
  const names = [data?.models.default, ...pools.map(({ pool }) => pool), ...local];
  const offered = new Set(names.filter((name) => name != null).slice(0, mostOffered));
  return (
    <>
      <input
        aria-label="Model"
        placeholder="Same model"
        title="Model of the next message: provider/model, or a pool. Empty: the model used so far."
        list={listId}
        maxLength={200}
        className="h-7 w-32 min-w-0 rounded-md border border-edge bg-panel px-2 max-sm:h-9"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={listId}>
        {[...offered].map((name) => (
          <option key={name} value={harmlessLine(name, 200)} />
        ))}
      </datalist>
    </>
  );
}
