import { type ReactNode, useId, useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { MandateApiError } from "../../../../src/surfaces/client/mandate-client.ts";
import { Button } from "../../components/button.tsx";
import { Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useUnsaved } from "../../router/unsaved.ts";
import {
  type AgentFields,
  entryOf,
  type FieldProblem,
  fieldsOf,
  newAgent,
  problemsAt,
  type Registry,
  withEntry,
} from "./agent-fields.ts";

interface AgentFormProps {
  /** As it was read; version 0: nothing is registered. */
  readonly registry: { readonly version: number; readonly value: Registry };
  /** The handle to change; null: a new one. */
  readonly agentId: string | null;
  readonly profiles: readonly string[];
  readonly onDone: () => void;
}

const look = "w-full min-w-0 rounded-md border border-edge bg-raised px-2 py-1";

/** One registered agent. The server validates it, and refuses to overwrite a newer version. */
export function AgentForm({ registry, agentId, profiles, onDone }: AgentFormProps) {
  const stored = registry.value.agents.find((entry) => entry.agentId === agentId);
  const [start] = useState(() =>
    stored === undefined ? { ...newAgent, profileId: profiles[0] ?? "" } : fieldsOf(stored),
  );
  const [base, setBase] = useState(registry);
  const [fields, setFields] = useState<AgentFields>(start);
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const isChanged = JSON.stringify(fields) !== JSON.stringify(start);
  useUnsaved(isChanged);
  const save = useAction(async () => {
    const entry = entryOf(fields);
    const isTaken = base.value.agents.some((one) => one.agentId === entry.agentId);
    if (agentId === null && isTaken) {
      return setProblems([{ field: "agentId", message: "This handle is already registered." }]);
    }
    const value = withEntry(base.value, entry);
    try {
      await client.putRegistry({
        value: value as unknown as Readonly<Record<string, unknown>>,
        expectedVersion: base.version,
      });
      showToast(`${entry.agentId} is saved.`);
      onDone();
    } catch (error) {
      const problem = error instanceof MandateApiError ? error.problem : undefined;
      if (problem?.current !== undefined) {
        const { value: theirs, version } = problem.current;
        setBase({ value: theirs as Registry, version });
        const message = `Another person saved version ${version} of the registry. Your changes are kept here. Save again to add them to that version.`;
        setProblems([{ field: null, message }]);
      } else if (problem?.status === 422) {
        setProblems(problemsAt(problem.detail ?? "", value, entry.agentId));
      } else throw error;
    }
  });
  const put = (change: Partial<AgentFields>): void => {
    setFields({ ...fields, ...change });
    setProblems([]);
  };
  const said = (field: keyof AgentFields): string =>
    problems
      .filter((problem) => problem.field === field)
      .map(({ message }) => message)
      .join(" ");
  const general = problems.filter(({ field }) => field === null);
  const options = [...new Set([fields.profileId, ...profiles])].filter((name) => name !== "");
  return (
    <form
      aria-label={agentId === null ? "Register an agent" : `Change ${harmlessLine(agentId, 64)}`}
      className="flex max-w-2xl flex-col gap-3 overflow-auto p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void save.run();
      }}
    >
      <h2 className="text-base font-semibold">
        {agentId === null ? "Register an agent" : <Text>{agentId}</Text>}
      </h2>
      {general.length > 0 && (
        <ul role="alert" className="wrap-anywhere text-bad">
          {general.map(({ message }) => (
            <li key={message}>
              <Text most={1000}>{message}</Text>
            </li>
          ))}
        </ul>
      )}
      {agentId === null && (
        <Labelled
          label="Handle"
          hint="@ and 2 to 32 of a-z, 0-9, _ and -"
          problem={said("agentId")}
        >
          {(aria) => (
            <input
              {...aria}
              className={look}
              maxLength={64}
              value={fields.agentId}
              onChange={({ target }) => put({ agentId: target.value })}
            />
          )}
        </Labelled>
      )}
      <Labelled label="Profile" problem={said("profileId")}>
        {(aria) => (
          <select
            {...aria}
            className={look}
            value={fields.profileId}
            onChange={({ target }) => put({ profileId: target.value })}
          >
            {options.map((name) => (
              <option key={name} value={name}>
                {harmlessLine(name, 64)}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <Labelled
        label="Description"
        hint="Agents read it to choose a delegate."
        problem={said("description")}
      >
        {(aria) => (
          <textarea
            {...aria}
            className={look}
            rows={2}
            maxLength={2000}
            value={fields.description}
            onChange={({ target }) => put({ description: target.value })}
          />
        )}
      </Labelled>
      <Names label="Tags" name="tags" fields={fields} problem={said("tags")} onChange={put} />
      <details open={stored !== undefined && Object.keys(stored).length > 4}>
        <summary className="font-medium">Skills and MCP servers</summary>
        <div className="flex flex-col gap-3 pt-3">
          <Names
            label="Skills that are forwarded by default"
            name="defaultForwardSkills"
            fields={fields}
            problem={said("defaultForwardSkills")}
            onChange={put}
          />
          <Restriction
            label="Only these skills may be forwarded"
            name="allowedForwardSkills"
            fields={fields}
            problem={said("allowedForwardSkills")}
            onChange={put}
          />
          <Names
            label="MCP servers that it gets by default"
            name="defaultMcpServers"
            fields={fields}
            problem={said("defaultMcpServers")}
            onChange={put}
          />
          <Restriction
            label="Only these MCP servers may be given to it"
            name="allowedMcpServers"
            fields={fields}
            problem={said("allowedMcpServers")}
            onChange={put}
          />
        </div>
      </details>
      <div className="flex gap-2">
        <Button tone="main" type="submit" disabled={!isChanged || save.isBusy}>
          Save
        </Button>
        <Button onClick={onDone}>{isChanged ? "Close without saving" : "Close"}</Button>
      </div>
    </form>
  );
}

interface AriaProps {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string;
}

interface LabelledProps {
  readonly label: string;
  readonly hint?: string;
  readonly problem: string;
  readonly children: (aria: AriaProps) => ReactNode;
}

function Labelled({ label, hint, problem, children }: LabelledProps) {
  const id = useId();
  const aria = { id, "aria-invalid": problem !== "", "aria-describedby": `${id}-about` };
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children(aria)}
      <p
        id={`${id}-about`}
        className={`text-xs wrap-anywhere ${problem === "" ? "text-soft" : "text-bad"}`}
      >
        <Text most={500}>{problem === "" ? (hint ?? "") : problem}</Text>
      </p>
    </div>
  );
}

type NamesField = "tags" | "defaultForwardSkills" | "defaultMcpServers";
type RestrictionField = "allowedForwardSkills" | "allowedMcpServers";

interface NamesProps<Field extends keyof AgentFields> {
  readonly label: string;
  readonly name: Field;
  readonly fields: AgentFields;
  readonly problem: string;
  readonly onChange: (change: Partial<AgentFields>) => void;
}

function Names({ label, name, fields, problem, onChange }: NamesProps<NamesField>) {
  return (
    <Labelled label={label} hint="Separate names with commas." problem={problem}>
      {(aria) => (
        <input
          {...aria}
          className={look}
          value={fields[name]}
          onChange={({ target }) => onChange({ [name]: target.value })}
        />
      )}
    </Labelled>
  );
}

/** An empty list allows none, which is not the same as no restriction. */
function Restriction({ label, name, fields, problem, onChange }: NamesProps<RestrictionField>) {
  const names = fields[name];
  return (
    <div className="flex flex-col gap-1">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={names !== null}
          onChange={({ target }) => onChange({ [name]: target.checked ? "" : null })}
        />
        {label}
      </label>
      {names !== null && (
        <Labelled label="Names" hint="Empty: none is allowed." problem={problem}>
          {(aria) => (
            <input
              {...aria}
              className={look}
              value={names}
              onChange={({ target }) => onChange({ [name]: target.value })}
            />
          )}
        </Labelled>
      )}
    </div>
  );
}
