// Sorting names the way people expect.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** A decimal number, but not part of a version such as v1.10 or 1.2.3. */
const DECIMAL = /((?<![\d.v])\d+\.\d+(?!\.?\d))/;

/** Compares names: layer2 comes before layer10, and a learning rate of 0.0003 before 0.001. */
export function compareNames(a: string, b: string): number {
  const order = a.includes(".") && b.includes(".") ? compareDecimals(a, b) : collator.compare(a, b);
  return order || (a < b ? -1 : a > b ? 1 : 0);
}

function compareDecimals(a: string, b: string): number {
  // Every second part is a decimal number.
  const [left, right] = [a.split(DECIMAL), b.split(DECIMAL)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = i % 2 === 1 ? Number(left[i]) - Number(right[i]) : collator.compare(left[i]!, right[i]!);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
