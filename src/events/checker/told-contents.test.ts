import { beforeEach, describe, expect, it } from "vitest";
import { ToldContents } from "./check-merged-files.ts";

const folder = "/copy";
const change = (before: string | null, after: string | null) => [{ path: "a", before, after }];

let contents: ToldContents;

beforeEach(() => {
  contents = new ToldContents();
});

function write(before: string | null, after: string): void {
  contents.beginCall("1", "reported");
  contents.endCall("1", folder, change(before, after));
}

function merge(before: string | null, after: string | null): string | undefined {
  contents.beginMerge("child");
  return contents.endMerge("child", folder, change(before, after));
}

describe("ToldContents", () => {
  it("knows nothing of a file that was never told of", () => {
    expect(merge("x", "y")).toBeUndefined();
  });

  it("follows merges and writes, new files and deletions", () => {
    expect(merge(null, "1")).toBeUndefined();
    write("1", "2");
    expect(merge("2", null)).toBeUndefined();
    expect(merge(null, "3")).toBeUndefined();
    expect(merge("2", "4")).toBe("a");
    expect(merge("4", "5")).toBeUndefined();
  });

  it("finds a merge that starts from what is long gone", () => {
    merge(null, "1");
    merge("1", "2");
    expect(merge("1", "3")).toBe("a");
  });

  it("takes a file by where it lies, not by what somebody calls it", () => {
    contents.endCall("1", "/copy/sub", change(null, "1"));
    expect(contents.endMerge("child", folder, [{ path: "sub/a", before: null, after: "2" }])).toBe(
      "sub/a",
    );
  });

  it("says nothing more once a command could have changed anything", () => {
    merge(null, "1");
    contents.beginCall("c", "any");
    contents.endCall("c", folder, []);
    expect(merge("9", "2")).toBeUndefined();
    expect(merge("1", "3")).toBeUndefined();
  });

  it("starts anew after a call of which its effect is unknown", () => {
    merge(null, "1");
    contents.beginCall("c", "reported");
    contents.loseCall("c");
    expect(merge("9", "2")).toBeUndefined();
    expect(merge("9", "3")).toBe("a");
  });

  it("does not decide between a write and a merge at the same time", () => {
    merge(null, "1");
    contents.beginCall("c", "reported");
    expect(merge("2", "3")).toBeUndefined();
    contents.endCall("c", folder, change("1", "2"));
    expect(merge("3", "4")).toBeUndefined();
    contents.beginMerge("other");
    write("4", "5");
    expect(contents.endMerge("other", folder, change("9", "6"))).toBeUndefined();
  });
});
