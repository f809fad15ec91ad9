import { expect, test } from "vitest";
import { withoutPackages } from "../../testing/without-packages.test-support.ts";

const read = `
  const folder = "./tools/documents/";
  const { readDocx } = await import(folder + "read-docx.ts");
  const { makeDocx, paragraph } = await import(folder + "make-documents.test-support.ts");
  console.log(await readDocx(makeDocx(paragraph("A quiet paragraph"))));`;

test("without the package that reads them, a Word document is refused with what to install", () => {
  expect(withoutPackages(["mammoth"], read)).toMatch(
    /^DocumentProblem Word documents need a package .*: npm install mammoth/,
  );
  expect(withoutPackages([], read)).toContain("A quiet paragraph");
});
