export interface Span {
  readonly from: number;
  readonly to: number;
}

const shortest = 10;

/** Larger or smaller around a point, which stays where it is; never beyond the whole. */
export function zoomSpan(span: Span, factor: number, around: number, whole: Span): Span {
  const length = Math.max((span.to - span.from) / factor, shortest);
  if (length >= whole.to - whole.from) return whole;
  const share = (around - span.from) / Math.max(span.to - span.from, 1);
  return within({ from: around - length * share, to: around + length * (1 - share) }, whole);
}

export function moveSpan(span: Span, by: number, whole: Span): Span {
  return within({ from: span.from + by, to: span.to + by }, whole);
}

function within({ from, to }: Span, whole: Span): Span {
  const length = to - from;
  if (from < whole.from) return { from: whole.from, to: whole.from + length };
  if (to > whole.to) return { from: whole.to - length, to: whole.to };
  return { from, to };
}
