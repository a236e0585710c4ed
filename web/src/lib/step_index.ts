// One step for all runs of a tag, or each its own: where the sliders stand.

/** The index of the newest item at or before a step; 0 where all are later. */
export function indexAtStep(steps: number[], step: number): number {
  let found = 0;
  steps.forEach((one, index) => {
    if (one <= step) found = index;
  });
  return found;
}
