import { Suspense, useEffect, useState } from "react";
import { Empty } from "./components/empty.tsx";
import { Toasts } from "./components/toast.tsx";
import { live } from "./data/live.ts";
import { useValue } from "./data/value-store.ts";
import { findPage, pages } from "./pages.tsx";
import { navigate, usePlace } from "./router/router.ts";
import { Boundary } from "./shell/boundary.tsx";
import { ConnectionBanner } from "./shell/connection-banner.tsx";
import { DepartureDialog } from "./shell/departure-dialog.tsx";
import { Header } from "./shell/header.tsx";
import { useKeys } from "./shell/keys.ts";
import { KeysDialog } from "./shell/keys-dialog.tsx";
import { Navigation } from "./shell/navigation.tsx";
import { Palette } from "./shell/palette.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { switchTheme } from "./shell/theme.ts";

export function App() {
  const { path } = usePlace();
  const isOut = useValue(live.status) === "signed-out";
  const [overlay, setOverlay] = useState<"palette" | "keys" | null>(null);
  const found = findPage(path);
  const name = found?.page.name ?? "Not found";
  useEffect(() => {
    document.title = `${name} · Mandate`;
  }, [name]);
  useKeys([
    { keys: "mod+k", label: "Search and commands", run: () => setOverlay("palette") },
    { keys: "/", label: "Search and commands", run: () => setOverlay("palette") },
    { keys: "?", label: "Keys", run: () => setOverlay("keys") },
    { keys: "t", label: "Light or dark", run: switchTheme },
    ...pages.flatMap(({ name: page, navigation, path: to }) =>
      navigation
        ? [{ keys: `g ${navigation.key}`, label: `Go to ${page}`, run: () => navigate(to) }]
        : [],
    ),
  ]);
  return (
    <div className="flex h-full min-w-0 max-sm:flex-col-reverse">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <Navigation current={found?.page.path ?? ""} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Header onSearch={() => setOverlay("palette")} onKeys={() => setOverlay("keys")} />
        <ConnectionBanner />
        <main
          id="content"
          tabIndex={-1}
          className="flex min-h-0 min-w-0 flex-1 flex-col overflow-auto bg-panel outline-none"
        >
          {isOut && <SignIn />}
          {/* Unsaved text is still there after a new sign-in. */}
          <div id="page" inert={isOut} className={isOut ? "hidden" : "contents"}>
            <Boundary key={path}>
              <Suspense fallback={<h1 className="sr-only">{name}</h1>}>
                {found?.page.render(found.params) ?? (
                  <>
                    <h1 className="sr-only">{name}</h1>
                    <Empty title="There is no such page">
                      The address may be mistyped. Runs are under <code>g r</code>.
                    </Empty>
                  </>
                )}
              </Suspense>
            </Boundary>
          </div>
        </main>
      </div>
      {overlay === "palette" && <Palette onClose={() => setOverlay(null)} />}
      {overlay === "keys" && <KeysDialog onClose={() => setOverlay(null)} />}
      <DepartureDialog />
      <Toasts />
    </div>
  );
}
