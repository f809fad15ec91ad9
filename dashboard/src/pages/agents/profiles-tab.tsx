import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { Link } from "../../router/link.tsx";
import { useQueryWord } from "../../router/router.ts";
import { ProfileView } from "./profile-view.tsx";

export type ProfileList = Operations["listProfiles"]["reply"];

export const loadProfiles = (signal: AbortSignal): Promise<ProfileList> =>
  client.listProfiles({}, { signal });

/** Shows the profiles that can be used, and those that cannot. */
export function ProfilesTab({ list }: { readonly list: UseQueryResult<ProfileList> }) {
  const [chosen] = useQueryWord("profile", "");
  const { data: value, error } = list;
  if (value === undefined) return error === null ? null : <Problem error={error} />;
  const broken = value.problems.filter(({ name }) => !value.items.some((one) => one.name === name));
  if (value.items.length === 0 && broken.length === 0) {
    return (
      <Empty title="No profiles yet">
        <p>
          A profile is the prompt, tools, model and limits of an agent. Write one to{" "}
          <code>.mandate/agents/name.md</code>, or import those of another program:
        </p>
        <p className="mt-2">
          <CommandLine>mandate import .claude/agents</CommandLine>
        </p>
      </Empty>
    );
  }
  const waiting = new Set(value.waiting.map(({ name }) => name));
  // Where there is room for both, the first one is open until another one is chosen.
  const shown = chosen === "" ? value.items[0]?.name : chosen;
  return (
    <div className="flex min-h-0 flex-1">
      <nav
        aria-label="Profiles"
        className={`min-h-0 w-full shrink-0 overflow-auto border-line sm:w-64 sm:border-r ${chosen === "" ? "" : "max-sm:hidden"}`}
      >
        {value.items.map(({ description, isHidden, model, name }) => (
          <ProfileLink key={name} name={name} isChosen={name === shown}>
            <span className="flex items-baseline gap-2">
              <Text className="truncate font-medium">{name}</Text>
              {waiting.has(name) && <span className="text-xs text-warn">not trusted</span>}
              {isHidden && <span className="text-xs text-soft">hidden</span>}
              <Text className="ml-auto max-w-28 truncate font-mono text-[11px] text-soft">
                {model ?? "no model"}
              </Text>
            </span>
            <span className="truncate text-xs text-soft">
              <Text>{description}</Text>
            </span>
          </ProfileLink>
        ))}
        {broken.map(({ message, name, file }) => (
          <ProfileLink key={`${name} ${file}`} name={name} isChosen={name === chosen}>
            <span className="flex items-baseline gap-2">
              <Text className="truncate font-medium">{name}</Text>
              <span className="ml-auto text-xs text-bad">cannot be used</span>
            </span>
            <span className="truncate text-xs text-soft">
              <Text>{message}</Text>
            </span>
          </ProfileLink>
        ))}
      </nav>
      <div
        className={`min-h-0 min-w-0 flex-1 overflow-auto ${chosen === "" ? "max-sm:hidden" : ""}`}
      >
        {shown !== undefined && <ProfileView key={shown} name={shown} />}
      </div>
    </div>
  );
}

interface ProfileLinkProps {
  readonly name: string;
  readonly isChosen: boolean;
  readonly children: ReactNode;
}

function ProfileLink({ name, isChosen, children }: ProfileLinkProps) {
  return (
    <Link
      to={`/agents?tab=profiles&profile=${encodeURIComponent(name)}`}
      aria-current={isChosen ? "true" : undefined}
      className="row flex min-w-0 flex-col border-b border-line px-4 py-2 hover:bg-hover aria-[current]:bg-chosen"
    >
      {children}
    </Link>
  );
}
