// Whether results differ by more than seeds alone explain, judged by runs that differ only in their seed.

import { formatSetting } from "../../ui/text/format";
import { mean, twoSidedP, variance, welchTest } from "./t_test";

const SIGNIFICANCE = 0.05;
const SEED_NAME = /(^|[._/-])(seed|random_state|run_?id|trial|replicate)s?([._/-]|$)/i;
/** What a run is called and where it is written says nothing about how it was trained. */
const IDENTITY_NAME =
  /(^|[./])(run_?(tag|name)|exp(eriment)?_?name|((out(put)?|log(ging)?|save|tensorboard|work)_?)?dir)$/i;

/** The settings of a run without its seed, as text. Runs with equal texts are repetitions. */
function settingsKey(settings: Record<string, unknown>): string {
  const kept = Object.entries(settings).filter(([key]) => !SEED_NAME.test(key) && !IDENTITY_NAME.test(key));
  return JSON.stringify(kept.map(([key, value]) => [key, formatSetting(value)]).sort());
}

/** The runs that differ from a run only in their seed, and the run itself. A run without settings has no others. */
export function repetitionsOf(run: string, settings: Record<string, Record<string, unknown>>): string[] {
  const own = settings[run];
  if (!own || Object.keys(own).length === 0) return [run];
  const key = settingsKey(own);
  return Object.keys(settings).filter((other) => other === run || settingsKey(settings[other]!) === key);
}

export interface Comparison {
  /** Whether the difference is beyond seed noise; unknown if there are too few seeds. */
  kind: "beyond" | "within" | "unknown";
  difference: number;
  p: number | null;
  /** How many seeds each side has. */
  seeds: [number, number];
}

/** Compares two sets of repetitions by Welch's test. */
export function compareRepetitions(a: number[], b: number[]): Comparison {
  const [first, second] = [a.filter(Number.isFinite), b.filter(Number.isFinite)];
  const difference = mean(second) - mean(first);
  const seeds: [number, number] = [first.length, second.length];
  if (first.length < 2 || second.length < 2) return { kind: "unknown", difference, p: null, seeds };
  const p = welchTest(first, second);
  return { kind: p < SIGNIFICANCE ? "beyond" : "within", difference, p, seeds };
}

/** Compares one repetition with the others. The difference is from their mean. */
export function compareWithOthers(value: number, others: number[]): Comparison {
  const rest = others.filter(Number.isFinite);
  const difference = value - mean(rest);
  const seeds: [number, number] = [rest.length, 1];
  if (rest.length < 2 || !Number.isFinite(value)) return { kind: "unknown", difference, p: null, seeds };
  const p = twoSidedP(difference, variance(rest) * (1 + 1 / rest.length), rest.length - 1);
  return { kind: p < SIGNIFICANCE ? "beyond" : "within", difference, p, seeds };
}
