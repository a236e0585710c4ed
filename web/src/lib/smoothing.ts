// The smoothing slider: one handle for smoothers that count differently.

import type { Smoother } from "./api";

export const SMOOTHERS: { id: Smoother; label: string }[] = [
  { id: "debiased", label: "Exponential (as TensorBoard)" },
  { id: "time-weighted", label: "Exponential, by distance in x" },
  { id: "gaussian", label: "Gaussian" },
  { id: "running-mean", label: "Running mean" },
];

/**
 * What the server is asked for at a place of the slider, 0 to 1; null for no smoothing. The widths of the kernels are
 * chosen so that all smoothers look alike at one place: an exponential of weight w remembers about 1 / (1 - w) points.
 */
export function smoothingAt(kind: Smoother, place: number): { kind: Smoother; weight: number } | null {
  if (place <= 0) return null;
  const weight = Math.min(place, 0.999);
  if (kind === "debiased" || kind === "time-weighted") return { kind, weight };
  const memory = 1 / (1 - weight);
  return { kind, weight: kind === "gaussian" ? +(memory / 2).toFixed(2) : Math.max(2, Math.round(memory)) };
}
