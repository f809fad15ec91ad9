import { crc32, deflateRawSync, deflateSync } from "node:zlib";

/** A PDF of one font and one line of text per line given; each page is a list of lines. */
export function makePdf(pages: readonly (readonly string[])[], title = ""): Buffer {
  const contents = pages.map((lines) => {
    const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/g, "\\$&")}) Tj T*`);
    return `BT /F1 12 Tf 14 TL 50 750 Td ${shown.join(" ")} ET`;
  });
  return makePdfOfStreams(
    contents.map((text) => Buffer.from(text, "latin1")),
    title,
  );
}

/** A PDF around content streams that are not text at all, packed or claimed to be. */
function makePdfOfStreams(streams: readonly Buffer[], title = "", filter = ""): Buffer {
  const first = 4;
  const kids = streams.map((_, index) => `${first + index * 2} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${streams.length} >>`),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
  ];
  for (const [index, stream] of streams.entries()) {
    const content = `${first + index * 2 + 1} 0 R`;
    const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${content} /Resources << /Font << /F1 3 0 R >> >> >>`;
    const head = `<< /Length ${stream.length}${filter === "" ? "" : ` /Filter ${filter}`} >>\nstream\n`;
    objects.push(Buffer.from(page));
    objects.push(Buffer.concat([Buffer.from(head), stream, Buffer.from("\nendstream")]));
  }
  objects.push(Buffer.from(`<< /Title (${title}) >>`));
  return assemblePdf(objects);
}

function assemblePdf(objects: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const part = Buffer.concat([
      Buffer.from(`${index + 1} 0 obj\n`),
      object,
      Buffer.from("\nendobj\n"),
    ]);
    offsets.push(length);
    length += part.length;
    parts.push(part);
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows.join("")}trailer\n` +
        `<< /Size ${size} /Root 1 0 R /Info ${objects.length} 0 R >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

/** A page whose packed content unpacks to so many bytes, filter upon filter. */
export function makePdfBomb(bytes: number): Buffer {
  const once = deflateSync(Buffer.alloc(bytes, "(x) Tj "), { level: 9 });
  return makePdfOfStreams([deflateSync(once, { level: 9 })], "", "[/FlateDecode /FlateDecode]");
}

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  /** What the directory says, when that is not the truth. */
  readonly claimedSize?: number;
  readonly flags?: number;
}

export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, claimedSize = content.length, flags = 0 } of entries) {
    const packed = deflateRawSync(content, { level: 9 });
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(flags, 2);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(content), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(claimedSize, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    const body = Buffer.concat([Buffer.from("PK\u0003\u0004"), fields, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), fields, tail, Buffer.from(name)]),
    );
    bodies.push(body);
    offset += body.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, listing, end]);
}

const word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/** A Word document with this between the tags of its body. */
export function makeDocx(body: string, more: readonly ZipEntry[] = []): Buffer {
  const types =
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">' +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
  const relations =
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">' +
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>';
  const document = `<?xml version="1.0"?><w:document xmlns:w="${word}"><w:body>${body}</w:body></w:document>`;
  return makeZip([
    { name: "[Content_Types].xml", content: Buffer.from(types) },
    { name: "_rels/.rels", content: Buffer.from(relations) },
    { name: "word/document.xml", content: Buffer.from(document) },
    ...more,
  ]);
}

export function paragraph(text: string, style = ""): string {
  const properties = style === "" ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`;
  return `<w:p>${properties}<w:r><w:t>${text}</w:t></w:r></w:p>`;
}

export function tableOf(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => {
    const inside = row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join("");
    return `<w:tr>${inside}</w:tr>`;
  });
  return `<w:tbl>${cells.join("")}</w:tbl>`;
}
