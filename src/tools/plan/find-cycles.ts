/**
 * The circles in which steps wait for each other, as lists of places in which each depends on the
 * next and the last on the first. Not every circle that there is, but at least one for each knot:
 * who opens them all and looks again comes to an end.
 */
export function findCycles(dependencies: readonly (readonly number[])[]): readonly number[][] {
  const inKnot = notReducible(dependencies);
  const seen = new Set<number>();
  const cycles: number[][] = [];
  for (const start of inKnot) {
    const way: number[] = [];
    const at = new Map<number, number>();
    let place: number | undefined = start;
    while (place !== undefined && !seen.has(place)) {
      seen.add(place);
      at.set(place, way.length);
      way.push(place);
      place = dependencies[place]?.find((each) => inKnot.has(each));
    }
    const first = place === undefined ? undefined : at.get(place);
    if (first !== undefined) cycles.push(way.slice(first));
  }
  return cycles;
}

/** What is left when every step is taken away that depends on nothing that is left. */
function notReducible(dependencies: readonly (readonly number[])[]): ReadonlySet<number> {
  const left = new Set(dependencies.keys());
  const missing = dependencies.map(({ length }) => length);
  const dependents = dependencies.map((): number[] => []);
  for (const [place, all] of dependencies.entries()) {
    for (const each of all) dependents[each]?.push(place);
  }
  const free = [...left].filter((place) => missing[place] === 0);
  for (let place = free.pop(); place !== undefined; place = free.pop()) {
    left.delete(place);
    for (const dependent of dependents[place] ?? []) {
      const count = (missing[dependent] ?? 0) - 1;
      missing[dependent] = count;
      if (count === 0) free.push(dependent);
    }
  }
  return left;
}
