/** How many values of a kind are in use at once: a few profiles, at a few depths. */
const kept = 8;

/**
 * Makes equal values one value. A thousand siblings have the same permissions, model and deadlines;
 * what waits for its turn should not hold a thousand copies. Values are never changed.
 */
export class SharedValues<Value extends object> {
  readonly #recent: Value[] = [];
  #next = 0;

  share(value: Value): Value {
    for (const known of this.#recent) if (isEqual(known, value)) return known;
    this.#recent[this.#next] = value;
    this.#next = (this.#next + 1) % kept;
    return value;
  }
}

/** Field by field; what lies deeper is shared already, or not equal. Made for every delegation. */
function isEqual<Value extends object>(left: Value, right: Value): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => item === right[index]);
  }
  for (const key in right) if (left[key] !== right[key]) return false;
  for (const key in left) if (!(key in right)) return false;
  return true;
}
