import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { beginSession } from "./data/begin-session.ts";
import { followDesktopNotices } from "./data/desktop-notices.ts";
import { live } from "./data/live.ts";
import { followLive, queryClient } from "./data/query-client.ts";
import { navigate } from "./router/router.ts";
import { listenForKeys } from "./shell/keys.ts";
import { applyTheme } from "./shell/theme.ts";
import "./styles.css";

applyTheme();
listenForKeys();
followDesktopNotices();
followLive(queryClient, live);
void beginSession().then((path) => {
  if (path !== undefined) navigate(path, { replace: true });
  return live.run();
});
// A new address of the running server, pasted into the tab that is already open.
addEventListener("hashchange", () => void beginSession().then(() => live.hurry()));
if (location.pathname === "/") navigate("/overview", { replace: true });
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
