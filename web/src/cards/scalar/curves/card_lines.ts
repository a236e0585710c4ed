// The lines of a scalar card: its curves with their names, colors and styles.

import type { Curve } from "../../../api/columns";
import type { Line } from "../../../charts/drawing/curves";
import { assignColors, paletteColor } from "../../../runs/run_colors";
import { runColor } from "../../../runs/run_list.svelte";
import { runLabel } from "../../../state/runs.svelte";
import type { GroupBy } from "../../../state/view/view";
import { compareNames } from "../../../ui/text/natural_order";
import { theme } from "../../../ui/theme.svelte";

/** The line styles of overlaid tags. */
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** `requested` are the tags of the curves, in the order of the card's tags, which name them. */
export function linesOf(
  curves: Map<string, Curve>,
  { tags, requested, runs, groupBy }: { tags: string[]; requested: string[]; runs: Set<string>; groupBy: GroupBy },
): Line[] {
  const groups = [...curves.values()].flatMap((curve) => curve.group ?? []);
  const groupColors = assignColors([...new Set(groups)].sort(compareNames), new Map());
  const lines: Line[] = [];
  for (const [key, curve] of curves) {
    const index = requested.indexOf(curve.tag);
    const dash = DASHES[Math.max(0, index) % DASHES.length]!;
    const suffix = tags.length > 1 ? ` · ${tags[index] ?? curve.tag}` : "";
    if (curve.group !== null) {
      const name = groupBy.kind === "hparam" ? `${groupBy.value} = ${curve.group}` : curve.group;
      const color = paletteColor(groupColors.get(curve.group) ?? 0, theme.current);
      lines.push({ key, label: name + suffix, color, curve, dash });
    } else if (runs.has(curve.run)) {
      lines.push({ key, label: runLabel(curve.run) + suffix, color: runColor(curve.run), curve, dash });
    }
  }
  return lines;
}
