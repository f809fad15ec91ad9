import { CommandLine } from "../../components/command-line.tsx";
import { Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import {
  localCommand,
  localServers,
  type SystemReport,
  serverName,
  usableProviders,
} from "./plug-in.ts";

/** What to type to have a language model answer: by what this machine has, and what it lacks. */
export function PlugInSteps({ models }: { readonly models: SystemReport["models"] }) {
  const local = localServers(models.local);
  const usable = usableProviders(models);
  return (
    <ol className="flex list-decimal flex-col gap-1 pl-5">
      <li>
        {usable.length > 0 && (
          <p>
            <Text most={200}>{usable.join(", ")}</Text> can be used already: nothing to set.
          </p>
        )}
        {local.map((server) => (
          <LocalStep key={server.provider} server={server} defaultModel={models.default} />
        ))}
        {local.length === 0 && usable.length === 0 && (
          <p>
            A local model needs no key: start Ollama (127.0.0.1:11434) or the server of LM Studio
            (127.0.0.1:1234), and this page finds it within a minute. None answers now.
          </p>
        )}
        {usable.length === 0 && (
          <p className="flex flex-wrap items-center gap-x-2">
            Or set a key: <CommandLine>export ANTHROPIC_API_KEY=…</CommandLine>
            <span>
              (
              <Link to="/system?tab=models" className="text-accent underline">
                other providers
              </Link>
              )
            </span>
          </p>
        )}
      </li>
      <li>
        <span className="flex flex-wrap items-center gap-x-2">
          In the same terminal, end this server (Ctrl-C) and start{" "}
          <CommandLine>mandate serve</CommandLine> or, in a clone,{" "}
          <CommandLine>npm run -s mandate -- serve</CommandLine>
        </span>
      </li>
    </ol>
  );
}

interface LocalStepProps {
  readonly server: ReturnType<typeof localServers>[number];
  readonly defaultModel: string | null;
}

function LocalStep({ server, defaultModel }: LocalStepProps) {
  const command = localCommand(server, defaultModel);
  return (
    <p className="flex flex-wrap items-center gap-x-2">
      <span>
        <Text most={64} className="font-semibold">
          {serverName(server.provider)}
        </Text>{" "}
        answers on this machine{command === undefined ? ", and has no model yet." : ":"}
      </span>
      {command !== undefined && <CommandLine>{command}</CommandLine>}
    </p>
  );
}
