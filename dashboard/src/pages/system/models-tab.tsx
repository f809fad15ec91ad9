import { CommandLine } from "../../components/command-line.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import {
  isScripted,
  type LocalServer,
  localCommand,
  localServers,
  providerAdvice,
  type SystemReport,
} from "./plug-in.ts";
import { Mark, Section } from "./section.tsx";

type Models = SystemReport["models"];

const providerColumns: readonly Column<Models["providers"][number]>[] = [
  { title: "Provider", cell: ({ provider }) => <Text>{provider}</Text> },
  {
    title: "State",
    isSecondary: true,
    cell: ({ isUsable }) =>
      isUsable ? <Mark isGood word="ready" /> : <span className="text-soft">not set up</span>,
  },
  {
    title: "Setup",
    cell: (provider) => {
      const { command, sentence } = providerAdvice(provider);
      if (provider.isUsable) return null;
      return command === null ? <Text>{sentence}</Text> : <CommandLine>{command}</CommandLine>;
    },
  },
];

const poolColumns: readonly Column<Models["pools"][number]>[] = [
  { title: "Pool", cell: ({ pool }) => <Text>{pool}</Text> },
  {
    title: "Used now",
    cell: ({ first }) =>
      first === null ? (
        <span className="text-warn">no provider is set up</span>
      ) : (
        <Text className="font-mono text-xs">{first}</Text>
      ),
  },
  {
    title: "Order of preference",
    isSecondary: true,
    cell: ({ models }) => <Text className="font-mono text-xs text-soft">{models.join(", ")}</Text>,
  },
];

/** The default model, and how to change it. */
export function ModelsTab({ models }: { readonly models: Models }) {
  const local = localServers(models.local);
  return (
    <div className="min-h-0 flex-1 overflow-auto pb-6">
      <Section title="Default model">
        <p className="px-4 wrap-anywhere">
          {models.default !== null && (
            <Text className="font-mono text-xs font-semibold">{models.default}</Text>
          )}{" "}
          {models.default === null ? (
            <span className="text-warn">
              No language model is configured, so no run can start. Set up a key or a local model
              below, then start <code className="font-mono text-xs">mandate serve</code> again.
            </span>
          ) : isScripted(models.default) ? (
            <span className="text-warn">
              is a script for demonstrations, not a language model. Set up a key or a local model
              below, then start <code className="font-mono text-xs">mandate serve</code> again.
            </span>
          ) : models.problem !== null ? (
            <span className="text-bad">
              is not available: <Text most={600}>{models.problem}</Text>
            </span>
          ) : (
            <span className="text-soft">
              is used where a profile or a run names no other model.{" "}
              {models.hasPrice
                ? `Prices are as of ${models.pricesAsOf}.`
                : "Its price is not known: its cost is shown as $0, and a run with a cost limit refuses it. Set a price under models.prices."}
            </span>
          )}
        </p>
      </Section>
      <Section title="Models on this machine">
        {local.length === 0 ? (
          <p className="px-4 text-soft">
            No local model server answers. Start <strong>Ollama</strong> (
            <code className="font-mono text-xs">ollama serve</code>) or the server of{" "}
            <strong>LM Studio</strong>, and this page finds it within a minute. A local model needs
            no key.
          </p>
        ) : (
          <ul className="flex flex-col gap-2 px-4">
            {local.map((server) => (
              <Local key={server.provider} server={server} defaultModel={models.default} />
            ))}
          </ul>
        )}
      </Section>
      <Section title="Providers">
        <p className="px-4 pb-2 text-soft">
          Set the variable in the shell that starts{" "}
          <code className="font-mono text-xs">mandate serve</code>. Keys stay in that process: no
          page and no log shows them.
        </p>
        <Table
          label="Providers"
          columns={providerColumns}
          rows={models.providers}
          keyOf={({ provider }) => provider}
        />
      </Section>
      {models.pools.length > 0 && (
        <Section title="Pools">
          <Table
            label="Pools"
            columns={poolColumns}
            rows={models.pools}
            keyOf={({ pool }) => pool}
          />
        </Section>
      )}
    </div>
  );
}

interface LocalProps {
  readonly server: LocalServer;
  readonly defaultModel: string | null;
}

function Local({ server, defaultModel }: LocalProps) {
  const command = localCommand(server, defaultModel);
  return (
    <li className="flex flex-col gap-1">
      <span className="wrap-anywhere">
        <Mark isGood word={`${server.provider} is running`} />{" "}
        <Text most={600} className="text-soft">
          {server.models.length === 0 ? "no model installed yet" : server.models.join(", ")}
        </Text>
      </span>
      {command !== undefined && (
        <span className="flex flex-wrap items-center gap-2">
          Use it: <CommandLine>{command}</CommandLine>
        </span>
      )}
    </li>
  );
}
