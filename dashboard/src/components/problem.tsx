import { MandateApiError } from "../../../src/surfaces/client/mandate-client.ts";
import { Text } from "./text.tsx";

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

export interface ToldProblem {
  readonly title: string;
  readonly detail: string;
  readonly code: string | null;
  readonly fields: readonly { readonly field: string; readonly message: string }[];
}

/** The server's own words where it said something; otherwise that it could not be reached. */
export function tellProblem(error: unknown): ToldProblem {
  if (error instanceof MandateApiError) {
    const { code, detail, errors = [], title } = error.problem;
    return tellAddress(errors[0]?.field) ?? { title, detail, code, fields: errors };
  }
  if (error instanceof TypeError) {
    const detail = "The request did not get through. Is `mandate serve` running?";
    return { title: "No answer", detail, code: null, fields: [] };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { title: "This went wrong", detail, code: null, fields: [] };
}

/** An address with an invalid id gets the message for an unknown one: a person does not know of fields. */
function tellAddress(field = ""): ToldProblem | undefined {
  const [, what] = /^path\.(run|delegation|session)Id$/.exec(field) ?? [];
  if (what === undefined) return undefined;
  const detail = "The address may be mistyped.";
  return { title: `There is no such ${what}`, detail, code: null, fields: [] };
}

export function Problem({ error, onRetry }: ProblemProps) {
  const { code, detail, fields, title } = tellProblem(error);
  return (
    <div
      role="alert"
      className="m-4 max-w-2xl rounded-md border border-line border-l-[3px] border-l-bad bg-panel px-4 py-3"
    >
      <h2 className="font-semibold text-bad">
        <Text>{title}</Text>
      </h2>
      <p className="wrap-anywhere">
        <Text most={2000}>{detail}</Text>
      </p>
      {fields.length > 1 && (
        <ul className="mt-2 list-disc pl-5 wrap-anywhere">
          {fields.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              <Text className="font-mono text-xs">{field}</Text>: <Text>{message}</Text>
            </li>
          ))}
        </ul>
      )}
      <p className="mt-1 flex gap-3 text-soft">
        {code !== null && <Text className="font-mono text-xs">{code}</Text>}
        {onRetry && (
          <button type="button" className="text-accent hover:underline" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
    </div>
  );
}
