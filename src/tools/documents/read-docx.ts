import { checkZip } from "./check-zip.ts";
import { DocumentProblem } from "./document-problem.ts";

/** A Word document as HTML: headings, lists, tables and links; pictures are left out. */
export async function readDocx(archive: Buffer): Promise<string> {
  if (!checkZip(archive).includes("word/document.xml")) {
    throw new DocumentProblem(
      "This is an archive, and not a Word document: there is no word/document.xml in it.",
    );
  }
  const { default: mammoth } = await import("mammoth");
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
