// Binary search in ascending x values.

/** The first index whose x is not below a value. */
export function lowerBound(x: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the x nearest to a value; -1 if there is none. */
export function nearestIndex(x: ArrayLike<number>, value: number): number {
  if (x.length === 0) return -1;
  const right = lowerBound(x, value);
  if (right === 0) return 0;
  if (right === x.length) return x.length - 1;
  return value - x[right - 1]! <= x[right]! - value ? right - 1 : right;
}

/** The indexes to draw for a range of x: one more than is visible on each side, so that lines reach the edges. */
export function visibleIndexes(x: ArrayLike<number>, from: number, to: number): [start: number, end: number] {
  return [Math.max(0, lowerBound(x, from) - 1), Math.min(x.length, lowerBound(x, to) + 1)];
}
