import type { ReactNode } from "react";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import type { Resource } from "../../data/use-resource.ts";
import { Link } from "../../router/link.tsx";
import { useQueryWord } from "../../router/router.ts";
import { ProfileView } from "./profile-view.tsx";

export type ProfileList = Operations["listProfiles"]["reply"];

export const loadProfiles = (signal: AbortSignal): Promise<ProfileList> =>
  client.listProfiles({}, { signal });

/** Those that can be used, and those that cannot: both are looked at here. */
export function ProfilesTab({ list }: { readonly list: Resource<ProfileList> }) {
  const [chosen] = useQueryWord("profile", "");
  const { error, value } = list;
  if (value === undefined) return error === undefined ? null : <Problem error={error} />;
  const broken = value.problems.filter(({ name }) => !value.items.some((one) => one.name === name));
  if (value.items.length === 0 && broken.length === 0) {
    return (
      <Empty title="No profiles yet">
        A profile says who an agent is: its prompt, tools, model and limits. Put one into{" "}
        <code>.mandate/agents/name.md</code>, or bring those you have:{" "}
        <code>mandate import .claude/agents</code>
      </Empty>
    );
  }
  return (
    <div className="flex min-h-0 flex-1">
      <nav
        aria-label="Profiles"
        className={`min-h-0 w-full shrink-0 overflow-auto border-line sm:w-64 sm:border-r ${chosen === "" ? "" : "max-sm:hidden"}`}
      >
        {value.items.map(({ description, isHidden, model, name }) => (
          <ProfileLink key={name} name={name} isChosen={name === chosen}>
            <span className="flex items-baseline gap-2">
              <Text className="truncate font-medium">{name}</Text>
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
        {chosen === "" ? (
          <Empty title="Choose a profile">
            You see each of its fields as it is in effect, and which file or record said so.
          </Empty>
        ) : (
          <ProfileView key={chosen} name={chosen} />
        )}
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
