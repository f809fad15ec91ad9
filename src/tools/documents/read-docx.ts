import { isMissingPackage } from "../../ports/message-of.ts";
import { checkZip } from "./check-zip.ts";
import { DocumentProblem } from "./document-problem.ts";

/** A Word document as HTML: headings, lists, tables and links; pictures are left out. */
export async function readDocx(archive: Buffer): Promise<string> {
  if (!checkZip(archive).includes("word/document.xml")) {
    throw new DocumentProblem(
      "This is an archive, and not a Word document: there is no word/document.xml in it.",
    );
  }
  const mammoth = await loadReader();
  const noPictures = mammoth.images.imgElement(async () => ({ src: "" }));
  const options = { convertImage: noPictures, externalFileAccess: false };
  try {
    const { value } = await mammoth.convertToHtml({ buffer: archive }, options);
    return value;
  } catch (error) {
    throw new DocumentProblem("The Word document is damaged: it could not be read.", {
      cause: error,
    });
  }
}

/** An optional package: it brings two dozen others, and most agents never meet a Word document. */
async function loadReader(): Promise<typeof import("mammoth")> {
  try {
    return (await import("mammoth")).default;
  } catch (cause) {
    if (!isMissingPackage(cause, ["mammoth"])) throw cause;
    throw new DocumentProblem(
      "Word documents need a package that is not installed beside mandate. To add it: npm install mammoth",
      { cause },
    );
  }
}
