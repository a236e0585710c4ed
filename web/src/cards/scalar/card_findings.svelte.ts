// What diagnosis found on the tags of a card, and where to shade it.

import type { XAxis } from "../../api/types";
import { mergeRanges, type ShadedRange } from "../../charts/drawing/shading";
import { diagnosis } from "../../state/diagnosis.svelte";
import type { FindingRange } from "../../state/finding_ranges";
import { positionsOf } from "./positions";

/** With more runs than this, shaded findings would cover the chart. A strip names the runs that have some. */
export const MAX_SHADED_RUNS = 5;

export interface FindingsRequest {
  /** None if findings are not shown. */
  tags: string[];
  runs: Set<string>;
  x: XAxis;
  /** The key of the curve that is in front of the others. */
  highlight: string | null;
}

interface Located extends FindingRange {
  /** Where the finding is on the axis of the chart; null until that is known. */
  range: [from: number, to: number] | null;
}

/** Create it while a component is set up. */
export class CardFindings {
  #request: () => FindingsRequest;
  #found = $derived.by(() => {
    const { tags, runs } = this.#request();
    return tags.flatMap((tag) =>
      (diagnosis.ranges.get(tag) ?? []).filter((range) => runs.has(range.run)).map((range) => ({ tag, range })),
    );
  });
  #positions = $state.raw<Map<FindingRange, [number, number]>>(new Map());

  constructor(request: () => FindingsRequest) {
    this.#request = request;
    $effect(() => {
      const { x } = request();
      const found = this.#found;
      const places = found.flatMap(({ tag, range }) =>
        [range.from, range.to].map((step) => ({ run: range.run, tag, step })),
      );
      if (x === "step" || places.length === 0) {
        this.#positions = new Map();
        return;
      }
      let current = true;
      void positionsOf(x, places)
        .then((positions) => {
          if (!current) return;
          const located = new Map<FindingRange, [number, number]>();
          found.forEach(({ range }, i) => {
            const [from, to] = [positions[2 * i], positions[2 * i + 1]];
            if (typeof from === "number" && typeof to === "number") located.set(range, [from, to]);
          });
          this.#positions = located;
        })
        .catch(() => undefined);
      return () => (current = false);
    });
  }

  all = $derived.by<Located[]>(() => {
    const { x } = this.#request();
    return this.#found.map(({ range }) => ({
      ...range,
      range: x === "step" ? [range.from, range.to] : (this.#positions.get(range) ?? null),
    }));
  });

  worst = $derived(
    (["critical", "warning", "info"] as const).find((severity) =>
      this.all.some((finding) => finding.severity === severity),
    ) ?? null,
  );

  /** Notes are shaded only for a single run or under the pointer: those of many runs would color the whole chart. */
  shaded = $derived.by<ShadedRange[]>(() => {
    const { runs, highlight } = this.#request();
    const few = runs.size <= MAX_SHADED_RUNS;
    const chosen = this.all.filter((finding) => {
      if (highlight !== null) return highlight.endsWith(`\n${finding.run}`);
      return few && (finding.severity !== "info" || runs.size === 1);
    });
    return mergeRanges(
      chosen.flatMap(({ range, severity }) => (range ? [{ from: range[0], to: range[1], severity }] : [])),
    );
  });

  /** The runs with a warning or worse, if there are too many runs to shade: the worst first. */
  runsToName = $derived.by(() => {
    const { runs } = this.#request();
    if (runs.size <= MAX_SHADED_RUNS) return [];
    const severities = new Map<string, "critical" | "warning">();
    for (const { run, severity } of this.all) {
      if (severity === "info" || severities.get(run) === "critical") continue;
      severities.set(run, severity);
    }
    return [...severities].sort((a, b) => a[1].localeCompare(b[1])).map(([run, severity]) => ({ run, severity }));
  });
}
