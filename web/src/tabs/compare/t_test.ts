// Student's t distribution, and Welch's test.

export function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function variance(values: number[]): number {
  const center = mean(values);
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1);
}

/** The two-sided p value of Welch's t-test. */
export function welchTest(a: number[], b: number[]): number {
  const [va, vb] = [variance(a) / a.length, variance(b) / b.length];
  const degreesOfFreedom = (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1));
  return twoSidedP(mean(a) - mean(b), va + vb, degreesOfFreedom);
}

/** The two-sided p value of a difference with a given variance, by Student's t distribution. */
export function twoSidedP(difference: number, varianceOfDifference: number, degreesOfFreedom: number): number {
  if (varianceOfDifference === 0) return difference === 0 ? 1 : 0;
  const tSquared = difference ** 2 / varianceOfDifference;
  return incompleteBeta(degreesOfFreedom / 2, 0.5, degreesOfFreedom / (degreesOfFreedom + tSquared));
}

/** The regularized incomplete beta function, by its continued fraction (Lentz). */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const tiny = 1e-300;
  let c = 1;
  let d = 1 - ((a + b) * x) / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let fraction = d;
  for (let m = 1; m < 300; m++) {
    for (const term of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 + term * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      if (Math.abs(c) < tiny) c = tiny;
      fraction *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-12) break;
  }
  return (front * fraction) / a;
}

function logGamma(z: number): number {
  // Lanczos approximation, g = 5, n = 6.
  const terms = [
    76.18009172947146, -86.50532032941678, 24.01409824083091, -1.231739572450155, 0.001208650973866179,
    -0.000005395239384953,
  ];
  const shifted = z + 5.5;
  const sum = terms.reduce((total, term, i) => total + term / (z + 1 + i), 1.000000000190015);
  return (z + 0.5) * Math.log(shifted) - shifted + Math.log((2.5066282746310007 * sum) / z);
}
