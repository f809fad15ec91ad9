import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MandateClient } from "../src/surfaces/client/mandate-client.ts";
import { testFolder } from "../src/testing/test-folder.test-support.ts";
import { findBarriers, openPage } from "./browser.test-support.ts";
import { type ServerProcess, startServerProcess } from "./serve-process.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();
const pagePlaces = ["/overview", "/runs", "/inbox", "/costs"];
const clients = 20;

/** A page without a browser: a session that was begun with a token, as the sign-in form does it. */
async function signIn({ port, token }: Pick<ServerProcess, "port" | "token">): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  const begun = await fetch(`${origin}/api/v1/page-session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ token }),
  });
  expect(begun.status).toBe(200);
  return begun.headers.get("set-cookie")?.split(";")[0] ?? "";
}

async function ask(port: number, cookie: string, method = "GET", path = "me"): Promise<number> {
  const origin = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${origin}/api/v1/${path}`, { method, headers: { cookie, origin } });
  await answer.body?.cancel();
  return answer.status;
}

describe("a restart of the server", { timeout: 180_000 }, () => {
  it("signs out none of twenty sessions and four open pages, and brings none back that was ended", async () => {
    const home = join(testFolder(), "home");
    mkdirSync(home);
    await using first = await startServerProcess(home, opened.folder);
    const { port } = first;
    const cookies = await Promise.all(Array.from({ length: clients }, () => signIn(first)));
    const { page, context, faults } = await openPage(opened.browser, first.link);
    const pages = [page];
    await page.getByText("Live", { exact: true }).waitFor();
    // Ends the link as well, which this page has used already.
    const ended = await signIn(first);
    expect(await ask(port, ended, "DELETE", "page-session")).toBe(204);
    for (const place of pagePlaces.slice(1)) {
      const next = await context.newPage();
      await next.goto(`http://127.0.0.1:${port}${place}`);
      pages.push(next);
    }
    for (const one of pages) await one.getByText("Live", { exact: true }).waitFor();
    await page.getByLabel("Task or command").fill("What I was about to write");
    await first.kill();
    for (const one of pages) await one.getByText("No connection to the server.").waitFor();

    await using second = await startServerProcess(home, opened.folder, port);
    for (const one of pages) await one.getByText("Live", { exact: true }).waitFor();
    expect(await page.getByLabel("Task or command").inputValue()).toBe("What I was about to write");
    const statuses = await Promise.all(cookies.map((cookie) => ask(port, cookie)));
    expect(statuses).toEqual(Array(clients).fill(200));
    expect(await ask(port, ended)).toBe(401);
    // What happens after the restart arrives on the pages that were open before it.
    const client = new MandateClient({ url: `http://127.0.0.1:${port}`, token: second.token });
    await client.startRun({ task: "After the restart", profile: "worker", wait: 20_000 });
    await pages[1]?.getByRole("grid", { name: "Runs" }).getByText("After the restart").waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await second.kill();
  });

  it("keeps a session of a token that signs in by the form, until it signs out or is revoked", async () => {
    const home = join(testFolder(), "home");
    mkdirSync(home);
    await using first = await startServerProcess(home, opened.folder);
    const { port } = first;
    const url = `http://127.0.0.1:${port}`;
    const admin = new MandateClient({ url, token: first.token });
    const { token } = await admin.createToken({ name: "anna", role: "viewer" });
    const { page, context, faults } = await openPage(opened.browser, `${url}/#code=expired`);
    await page.getByRole("alert").getByText("This code is not complete.").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel("Access token or sign-in code").fill("mnd_anna_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This token is unknown, expired or revoked.").waitFor();
    await page.getByLabel("Access token or sign-in code").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Account: anna, viewer" }).waitFor();
    await first.kill();

    await using second = await startServerProcess(home, opened.folder, port);
    await page.getByText("Live", { exact: true }).waitFor();
    const cookies = await context.cookies();
    const cookie = `${cookies[0]?.name}=${cookies[0]?.value}`;
    expect([cookies.length, cookies[0]?.httpOnly, cookies[0]?.sameSite]).toEqual([
      1,
      true,
      "Strict",
    ]);
    expect(await ask(port, cookie)).toBe(200);
    await page.getByRole("button", { name: "Account: anna, viewer" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Mandate" }).waitFor();
    expect(await ask(port, cookie)).toBe(401);
    const { shortCode } = (await (
      await fetch(`${url}/api/v1/page-code`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      })
    ).json()) as { readonly shortCode: { readonly code: string } };
    await page.getByLabel("Access token or sign-in code").fill(shortCode.code.toLowerCase());
    await page.keyboard.press("Enter");
    await page.getByText("Live", { exact: true }).waitFor();
    await new MandateClient({ url, token: second.token }).revokeToken({ name: "anna" });
    await page.getByRole("heading", { name: "Sign in to Mandate" }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await second.kill();
  });
});
