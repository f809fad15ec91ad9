import { formatBytes } from "../../../components/format-bytes.ts";
import { LongText, Text } from "../../../components/text.tsx";
import { Link } from "../../../router/link.tsx";
import { Fact } from "../pane.tsx";
import type { ToolCall } from "./tool-calls-of.ts";

interface CallDetailsProps {
  readonly call: ToolCall;
  readonly onArtifact: (hash: string) => void;
}

export function CallDetails({ call, onArtifact }: CallDetailsProps) {
  const { artifact, delivered, exitCode, files, input, malformed, output, outcome, rule } = call;
  return (
    <dl className="border-b border-line bg-page px-4 py-1.5 sm:pl-10">
      {rule !== undefined && (
        <Fact label="Rule">
          <Text className="font-mono text-xs text-warn">{rule}</Text>
        </Fact>
      )}
      {malformed === undefined ? (
        input !== undefined && (
          <Fact label="Arguments">
            <LongText>
              {typeof input === "string" ? input : JSON.stringify(input, null, 2)}
            </LongText>
          </Fact>
        )
      ) : (
        <Fact label="Arguments, which are no JSON">
          <LongText>{malformed}</LongText>
        </Fact>
      )}
      {exitCode !== undefined && (
        <Fact label="Exit code">
          <span className={exitCode === 0 ? "text-good" : "text-bad"}>{exitCode}</span>
        </Fact>
      )}
      {output !== null && (
        <Fact
          label={
            outcome === "done" ? "Output" : outcome === "refused" ? "What it was told" : "Error"
          }
        >
          <LongText>{output === "" ? "(nothing)" : output}</LongText>
          {artifact && (
            <button
              type="button"
              className="text-accent hover:underline"
              onClick={() => onArtifact(artifact.hash)}
            >
              The whole output ({formatBytes(artifact.bytes)})
            </button>
          )}
        </Fact>
      )}
      {files.length > 0 && (
        <Fact label="Files">
          <ul>
            {files.map(({ path }) => (
              <li key={path}>
                <Text className="font-mono text-xs">{path}</Text>
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {delivered.length > 0 && (
        <Fact label="Results of">
          <span className="flex flex-wrap gap-2">
            {delivered.map((id) => (
              <Link
                key={id}
                to={`/delegations/${encodeURIComponent(id)}`}
                className="text-accent hover:underline"
              >
                <Text className="font-mono text-xs">{id}</Text>
              </Link>
            ))}
          </span>
        </Fact>
      )}
      <Fact label="Call">
        <Text className="font-mono text-xs text-soft">{call.callId}</Text>
      </Fact>
    </dl>
  );
}
