// The smoothing slider: one scale for smoothers with different parameters.

import type { Smoother } from "../api/types";

export const SMOOTHERS: { id: Smoother; label: string }[] = [
  { id: "debiased", label: "Exponential (like TensorBoard)" },
  { id: "time-weighted", label: "Exponential, by distance in x" },
  { id: "gaussian", label: "Gaussian" },
  { id: "running-mean", label: "Running mean" },
];

/**
 * The smoothing to request at a slider position from 0 to 1; null for none. Kernel widths are chosen so that all
 * smoothers look alike at the same position: an exponential with weight w averages over about 1 / (1 - w) points.
 */
export function smoothingAt(kind: Smoother, position: number): { kind: Smoother; weight: number } | null {
  if (position <= 0) return null;
  const weight = Math.min(position, 0.999);
  if (kind === "debiased" || kind === "time-weighted") return { kind, weight };
  const points = 1 / (1 - weight);
  return { kind, weight: kind === "gaussian" ? +(points / 2).toFixed(2) : Math.max(2, Math.round(points)) };
}
