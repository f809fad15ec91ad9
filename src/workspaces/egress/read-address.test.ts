import { describe, expect, test } from "vitest";
import { followRedirect, readAddress, requireGrantedHost } from "./web-address.ts";

describe("an address", () => {
  test.each([
    ["ftp://example.com/", "only http and https"],
    ["file:///etc/passwd", "only http and https"],
    ["data:text/html,x", "only http and https"],
    ["javascript:alert(1)", "only http and https"],
    ["example.com", "not an absolute URL"],
    ["http://", "not an absolute URL"],
    ["http://user@example.com/", "user name or password"],
    ["http://allowed.example@evil.example/", "user name or password"],
    ["http://example.com\u0000.evil.example/", "control characters"],
    ["http://exa\tmple.com/", "control characters"],
    ["http://example.com/\r\nHost: x", "control characters"],
    ["http://example.com\\@evil.example/", "backslash"],
    ["http:\\\\evil.example/", "backslash"],
    ["http://evil.example%00.example.com/", "not an absolute URL"],
    ["http://evil.example%23.example.com/", "not an absolute URL"],
    ["http://exa mple.com/", "not an absolute URL"],
    ["http://example.com../", "its host is not one"],
    ["http://.example.com/", "its host is not one"],
    ["http://example.com:22/", "port 22"],
    ["http://example.com:25/", "port 25"],
    ["http://example.com:6379/", "port 6379"],
    ["http://example.com:0/", "port 0"],
    ["http://[fe80::1%25eth0]/", "not an absolute URL"],
    ["http://1.2.3.4.5/", "not an absolute URL"],
    [`http://example.com/${"a".repeat(5000)}`, "longer than"],
  ])("%j is refused", (text, why) => {
    expect(() => readAddress(text)).toThrow(why);
  });

  test.each([
    ["HTTPS://EXAMPLE.com./a/../b?q=1#part", "https://example.com/b?q=1"],
    ["http://example.com:80/", "http://example.com/"],
    ["http://example.com:8080", "http://example.com:8080/"],
    ["http://%65xample.com/", "http://example.com/"],
    ["http://ex\u00adample.com/", "http://example.com/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    ["https://example.com/?q=a\\b", "https://example.com/?q=a\\b"],
  ])("%j has one spelling: %j", (text, href) => {
    expect(readAddress(text).href).toBe(href);
  });
});

function denies(act: () => void): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}

describe("a grant of hosts", () => {
  const isGranted = (network: "*" | readonly string[], url: string) =>
    !denies(() => requireGrantedHost(network, readAddress(url)));

  test.each([
    ["example.com", "https://example.com/x", true],
    ["example.com", "https://EXAMPLE.com./x", true],
    ["Example.COM", "https://example.com/x", true],
    ["example.com", "https://www.example.com/", false],
    ["example.com", "https://example.com.evil.example/", false],
    ["example.com", "https://evil-example.com/", false],
    ["*.example.com", "https://a.b.example.com/", true],
    ["*.example.com", "https://example.com/", false],
    ["*.example.com", "https://evilexample.com/", false],
    ["bücher.example", "https://xn--bcher-kva.example/", true],
    ["example.com:8080", "http://example.com:8080/", true],
    ["example.com:8080", "http://example.com/", false],
    ["example.com:443", "https://example.com/", true],
    ["2606:4700::1", "http://[2606:4700:0::1]/", true],
    ["*", "https://example.com/", false],
    ["*.*", "https://example.com/", false],
    ["https://example.com", "https://example.com/", false],
    ["", "https://example.com/", false],
  ])("%j and %j: %j", (entry, url, expected) => {
    expect(isGranted([entry], url)).toBe(expected);
  });

  test("all is only said by a star that stands for itself, and none by an empty list", () => {
    expect(isGranted("*", "https://example.com/")).toBe(true);
    expect(isGranted([], "https://example.com/")).toBe(false);
  });
});

describe("a redirect", () => {
  const from = readAddress("https://example.com/a/b");

  test("is read against the page it comes from", () => {
    expect(followRedirect(from, 302, "../c?x#y")?.href).toBe("https://example.com/c?x");
    expect(followRedirect(from, 308, "//other.example/")?.href).toBe("https://other.example/");
    expect(followRedirect(from, 200, "/x")).toBeUndefined();
    expect(followRedirect(from, 304, "/x")).toBeUndefined();
    expect(followRedirect(from, 301, undefined)).toBeUndefined();
  });

  test("does not lead from https to http, to other schemes, or past the rules for addresses", () => {
    expect(() => followRedirect(from, 302, "http://example.com/")).toThrow("from https to http");
    expect(() => followRedirect(from, 302, "file:///etc/passwd")).toThrow("only http and https");
    expect(() => followRedirect(from, 302, "https://a:b@example.com/")).toThrow("user name");
    expect(() => followRedirect(from, 302, "https://example.com:25/")).toThrow("port 25");
    const plain = readAddress("http://example.com/");
    expect(followRedirect(plain, 301, "https://example.com/")?.protocol).toBe("https:");
  });
});
