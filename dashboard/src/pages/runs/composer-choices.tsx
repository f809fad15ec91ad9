import { useId } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { useMe } from "../../data/use-me.ts";

interface ComposerChoicesProps {
  /** Empty: the default agent. */
  readonly profile: string;
  readonly onProfile: (profile: string) => void;
  /** Undefined: the server's first. */
  readonly workspace: string | undefined;
  readonly onWorkspace: (workspace: string | undefined) => void;
  readonly isCommand: boolean;
}

const look =
  "h-7 max-w-48 min-w-0 rounded-md border border-line bg-panel px-1.5 text-soft hover:text-ink max-sm:h-9 max-sm:max-w-32";

/** Who works, and where: the folder only where there is more than one. */
export function ComposerChoices(props: ComposerChoicesProps) {
  const { isCommand, onProfile, onWorkspace, profile, workspace } = props;
  const base = useId();
  const folders = useMe()?.workspaces ?? [];
  const profiles = useLiveQuery({
    key: ["profiles"],
    load: (signal) => client.listProfiles({}, { signal }),
    changedBy: isRecordChange,
  });
  return (
    <>
      <label className="sr-only" htmlFor={`${base}-profile`}>
        Agent
      </label>
      <select
        id={`${base}-profile`}
        className={look}
        value={profile}
        disabled={isCommand}
        onChange={({ target }) => onProfile(target.value)}
      >
        <option value="">Default agent</option>
        {profiles.data?.items
          .filter(({ isHidden }) => !isHidden)
          .map(({ description, name }) => (
            <option key={name} value={name} title={harmlessLine(description, 300)}>
              {harmlessLine(name, 64)}
            </option>
          ))}
      </select>
      {folders.length > 1 && (
        <select
          aria-label="Folder"
          className={look}
          value={workspace ?? folders[0]}
          onChange={({ target }) => onWorkspace(target.value)}
        >
          {folders.map((folder) => (
            <option key={folder} value={folder} title={harmlessLine(folder, 300)}>
              {harmlessLine(folder.split("/").at(-1) || folder, 64)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}
