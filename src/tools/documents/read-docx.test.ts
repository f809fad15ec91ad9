import { expect, test } from "vitest";
import { withoutPackages } from "../../testing/without-packages.test-support.ts";

const read = `
  const folder = "./tools/documents/";
  const { openDocument } = await import(folder + "open-document.ts");
  const { makeDocx, paragraph } = await import(folder + "make-documents.test-support.ts");
  const document = await openDocument(makeDocx(paragraph("A quiet paragraph")), { kind: "docx" });
  for await (const { text } of document.parts(1)) console.log(text);`;

test("without the package that reads them, a Word document is refused with what to install", () => {
  expect(withoutPackages(["mammoth"], read)).toMatch(
    /^DocumentProblem Word documents need a package .*: npm install mammoth/,
  );
  expect(withoutPackages([], read)).toContain("A quiet paragraph");
});
