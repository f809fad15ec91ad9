import { lazy, type ReactNode } from "react";
import { OverviewPage } from "./pages/overview/overview-page.tsx";
import { RunPage } from "./pages/run/run-page.tsx";
import { RunsPage } from "./pages/runs/runs-page.tsx";
import { matchPath } from "./router/router.ts";

type Params = Readonly<Record<string, string>>;

export interface Page {
  /** `:name` is a parameter of `render`. */
  readonly path: string;
  readonly name: string;
  /** In the navigation: the key after `g`, and its icon (a path of 16 by 16). */
  readonly navigation?: { readonly key: string; readonly icon: string };
  readonly render: (params: Params) => ReactNode;
}

// What is heavy, or rarely opened, is loaded when it is.
const DelegationPage = lazy(async () => {
  const { DelegationPage: page } = await import("./pages/delegation/delegation-page.tsx");
  return { default: page };
});
const InboxPage = lazy(async () => {
  const { InboxPage: page } = await import("./pages/inbox/inbox-page.tsx");
  return { default: page };
});
const AgentsPage = lazy(async () => {
  const { AgentsPage: page } = await import("./pages/agents/agents-page.tsx");
  return { default: page };
});
const SessionsPage = lazy(async () => {
  const { SessionsPage: page } = await import("./pages/sessions/sessions-page.tsx");
  return { default: page };
});
const CostsPage = lazy(async () => {
  const { CostsPage: page } = await import("./pages/costs/costs-page.tsx");
  return { default: page };
});
const SystemPage = lazy(async () => {
  const { SystemPage: page } = await import("./pages/system/system-page.tsx");
  return { default: page };
});

export const pages: readonly Page[] = [
  {
    path: "/overview",
    name: "Overview",
    navigation: {
      key: "o",
      icon: "M2.5 2.5h5v5h-5ZM9.5 2.5h4v3h-4ZM9.5 7.5h4v6h-4ZM2.5 9.5h5v4h-5Z",
    },
    render: () => <OverviewPage />,
  },
  {
    path: "/runs",
    name: "Runs",
    navigation: { key: "r", icon: "M3 4h10M3 8h10M3 12h6" },
    render: () => <RunsPage />,
  },
  { path: "/runs/:runId", name: "Run", render: ({ runId = "" }) => <RunPage runId={runId} /> },
  {
    path: "/delegations/:delegationId",
    name: "Delegation",
    render: ({ delegationId = "" }) => <DelegationPage delegationId={delegationId} />,
  },
  {
    path: "/inbox",
    name: "Inbox",
    navigation: { key: "i", icon: "M2.5 9l2-5.5h7l2 5.5v3.5h-11ZM2.5 9h3l1 1.5h3l1-1.5h3" },
    render: () => <InboxPage />,
  },
  {
    path: "/agents",
    name: "Agents",
    navigation: {
      key: "a",
      icon: "M8 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5ZM3 13.5a5 5 0 0 1 10 0",
    },
    render: () => <AgentsPage />,
  },
  {
    path: "/sessions",
    name: "Sessions",
    navigation: { key: "s", icon: "M2.5 3.5h11v7h-6L4.5 13v-2.5h-2Z" },
    render: () => <SessionsPage />,
  },
  {
    path: "/costs",
    name: "Costs",
    navigation: { key: "c", icon: "M3 13.5v-4M8 13.5v-11M13 13.5v-7" },
    render: () => <CostsPage />,
  },
  {
    path: "/system",
    name: "System",
    navigation: { key: "y", icon: "M2.5 3h11v4h-11ZM2.5 9h11v4h-11ZM5 5h.1M5 11h.1" },
    render: () => <SystemPage />,
  },
];

export function findPage(
  path: string,
): { readonly page: Page; readonly params: Params } | undefined {
  for (const page of pages) {
    const params = matchPath(page.path, path);
    if (params !== undefined) return { page, params };
  }
  return undefined;
}
