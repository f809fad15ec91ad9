import { useOpenAsks } from "../data/open-asks.ts";
import { pages } from "../pages.tsx";
import { Link } from "../router/link.tsx";
import { Icon } from "./icon.tsx";

/** At the left; at the bottom of a phone. */
export function Navigation({ current }: { readonly current: string }) {
  const { data } = useOpenAsks();
  const open = data?.items.length ?? 0;
  return (
    <nav
      aria-label="Pages"
      className="z-20 flex shrink-0 gap-0.5 border-line bg-page max-sm:justify-around max-sm:border-t max-sm:px-1 max-sm:pb-[env(safe-area-inset-bottom)] sm:w-12 sm:flex-col sm:border-r sm:p-2 lg:w-44"
    >
      <Link
        to="/overview"
        className="mb-3 flex items-center gap-2 px-1.5 py-1 font-semibold max-sm:hidden"
        aria-label="Mandate"
      >
        <svg viewBox="0 0 32 32" className="size-5 shrink-0" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="var(--accent)" />
          <path
            d="M7 23V9l9 9 9-9v14"
            fill="none"
            stroke="var(--on-accent)"
            strokeWidth="3.2"
            strokeLinejoin="round"
            strokeLinecap="round"
          />
        </svg>
        <span className="hidden lg:inline">Mandate</span>
      </Link>
      {pages.map(({ name, navigation, path }) => {
        if (navigation === undefined) return null;
        const isCurrent = current === path || (path === "/runs" && current === "/runs/:runId");
        const count = path === "/inbox" ? open : 0;
        return (
          <Link
            key={path}
            to={path}
            aria-current={isCurrent ? "page" : undefined}
            title={`${name} (g ${navigation.key})`}
            className="relative flex items-center gap-2.5 rounded-md px-2 py-1 text-soft hover:bg-hover hover:text-ink aria-[current]:bg-chosen aria-[current]:font-medium aria-[current]:text-ink max-sm:min-w-0 max-sm:flex-1 max-sm:flex-col max-sm:gap-0 max-sm:px-0 max-sm:py-1.5"
          >
            <Icon path={navigation.icon} />
            <span className="max-sm:text-[10px] max-sm:leading-4 sm:max-lg:sr-only">{name}</span>
            {count > 0 && (
              <span className="rounded-full bg-warn px-1.5 text-[11px] leading-4 font-semibold text-panel max-lg:absolute max-lg:top-0 max-lg:right-0 lg:ml-auto">
                {count > 99 ? "99+" : count}
                <span className="sr-only"> open questions</span>
              </span>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
