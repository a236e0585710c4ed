// The position of a step slider.

/** The index of the newest item at or before a step; 0 if all are later. */
export function indexAtStep(steps: number[], step: number): number {
  let found = 0;
  steps.forEach((candidate, index) => {
    if (candidate <= step) found = index;
  });
  return found;
}
