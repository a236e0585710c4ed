// Is one run better than another beyond what seeds alone do? Welch's test over runs that differ only in their seed.

import { formatSetting } from "./format";

const SEED = /(^|[._/-])(seed|random_state|run_?id|trial|replicate)s?([._/-]|$)/i;

/** The settings of a run without its seed, as one text: equal texts are repetitions of one experiment. */
export function recipeOf(settings: Record<string, unknown>): string {
  const kept = Object.entries(settings).filter(([key]) => !SEED.test(key));
  return JSON.stringify(kept.map(([key, value]) => [key, formatSetting(value)]).sort());
}

/** Runs with the recipe of `run`, itself among them. A run without settings has only itself. */
export function siblingsOf(run: string, settings: Record<string, Record<string, unknown>>): string[] {
  const own = settings[run];
  if (!own || Object.keys(own).length === 0) return [run];
  const recipe = recipeOf(own);
  return Object.keys(settings).filter((other) => other === run || recipeOf(settings[other]!) === recipe);
}

export interface Verdict {
  kind: "beyond" | "within" | "unknown";
  difference: number;
  p: number | null;
  seeds: [number, number];
}

/** Whether two sets of repetitions differ beyond their own scatter. */
export function verdictOf(a: number[], b: number[], level = 0.05): Verdict {
  const [first, second] = [a.filter(Number.isFinite), b.filter(Number.isFinite)];
  const difference = mean(second) - mean(first);
  const seeds: [number, number] = [first.length, second.length];
  if (first.length < 2 || second.length < 2) return { kind: "unknown", difference, p: null, seeds };
  const p = welch(first, second);
  return { kind: p < level ? "beyond" : "within", difference, p, seeds };
}

/** Whether one repetition stands apart from the others of its own experiment; the difference is from their mean. */
export function repetitionOf(one: number, others: number[], level = 0.05): Verdict {
  const rest = others.filter(Number.isFinite);
  const difference = one - mean(rest);
  const seeds: [number, number] = [rest.length, 1];
  if (rest.length < 2 || !Number.isFinite(one)) return { kind: "unknown", difference, p: null, seeds };
  const p = twoSided(difference, variance(rest) * (1 + 1 / rest.length), rest.length - 1);
  return { kind: p < level ? "beyond" : "within", difference, p, seeds };
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}

/** The two-sided p value of Welch's t test. */
export function welch(a: number[], b: number[]): number {
  const [va, vb] = [variance(a) / a.length, variance(b) / b.length];
  return twoSided(mean(a) - mean(b), va + vb, (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1)));
}

/** How likely Student's t is to be this far from 0, for a gap and the variance of it. */
function twoSided(gap: number, spread: number, freedom: number): number {
  if (spread === 0) return gap === 0 ? 1 : 0;
  return incompleteBeta(freedom / 2, 0.5, freedom / (freedom + gap ** 2 / spread));
}

/** The regularised incomplete beta function, by its continued fraction (Lentz). */
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
  // Lanczos' approximation, g = 5, n = 6.
  const terms = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.001208650973866179, -0.000005395239384953];
  const shifted = z + 5.5;
  const sum = terms.reduce((total, term, i) => total + term / (z + 1 + i), 1.000000000190015);
  return (z + 0.5) * Math.log(shifted) - shifted + Math.log((2.5066282746310005 * sum) / z);
}

export interface Difference {
  name: string;
  values: unknown[];
  differs: boolean;
}

/** The settings of some runs side by side; those that differ first. */
export function differences(runs: string[], settings: Record<string, Record<string, unknown>>): Difference[] {
  const names = new Set<string>();
  for (const run of runs) for (const name of Object.keys(settings[run] ?? {})) names.add(name);
  const found = [...names].sort().map((name) => {
    const values = runs.map((run) => settings[run]?.[name]);
    return { name, values, differs: new Set(values.map(formatSetting)).size > 1 };
  });
  return [...found.filter((one) => one.differs), ...found.filter((one) => !one.differs)];
}
