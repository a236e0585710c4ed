// Saves a scalar card as a file.

import type { Curve } from "../../api/columns";
import { curvesToCsv, curvesToJson } from "../../charts/files/curve_files";
import { chartToPng, chartToSvg } from "../../charts/files/picture";
import type { LineChart } from "../../charts/line_chart";
import { view } from "../../state/view.svelte";
import { showError, showMessage } from "../../ui/messages.svelte";
import { fileName, saveFile } from "../../ui/save_file";
import { withThousands } from "../../ui/text/format";

export const FILE_KINDS = ["csv", "json", "png", "svg"] as const;
export type FileKind = (typeof FILE_KINDS)[number];

/** The server's limits: of one curve, and of a response. */
const MAX_BUCKETS = 20_000;
const MAX_BUCKETS_IN_TOTAL = 20_000_000;
const PICTURE = { width: 960, height: 440 };

export interface SavedChart {
  tags: string[];
  runs: string[];
  chart: LineChart | null;
  /** Loads the curves of the card with up to a number of points each. */
  fetch: (buckets: number) => Promise<Curve[]>;
}

export async function saveChart(kind: FileKind, card: SavedChart): Promise<void> {
  try {
    if (kind === "csv" || kind === "json") await saveCurves(kind, card);
    else await savePicture(kind, card);
  } catch (error) {
    showError(error);
  }
}

/** Every point, not only those that are drawn, as far as the server sends them. */
async function saveCurves(kind: "csv" | "json", card: SavedChart): Promise<void> {
  const series = Math.max(1, card.runs.length * card.tags.length);
  const curves = await card.fetch(Math.min(MAX_BUCKETS, Math.floor(MAX_BUCKETS_IN_TOTAL / series)));
  const xNames: Record<string, string> = { relative: "relative_time", wall: "wall_time" };
  const xName = xNames[view.x] ?? view.x.replace(/^tag:/, "");
  const name = fileName(card.tags.join("_"), kind);
  if (kind === "csv") saveFile(name, curvesToCsv(curves, xName), "text/csv");
  else saveFile(name, curvesToJson(curves, xName), "application/json");
  const reduced = curves.filter((curve) => !curve.exact);
  if (reduced.length === 0) return;
  const [rows, points] = [
    reduced.reduce((sum, curve) => sum + curve.x.length, 0),
    reduced.reduce((sum, curve) => sum + curve.points, 0),
  ];
  showMessage(
    `The file sums up ${withThousands(points)} points in ${withThousands(rows)} rows, each with its min and max.`,
    'For every point, choose "CSV from the server" in the same menu.',
  );
}

async function savePicture(kind: "png" | "svg", { tags, chart }: SavedChart): Promise<void> {
  const state = chart?.state;
  if (!state) return;
  const name = fileName(tags.join("_"), kind);
  const picture = { ...PICTURE, title: tags.map((tag) => tag.replace(/^=/, "")).join(" + ") };
  if (kind === "svg") {
    saveFile(name, chartToSvg(state, picture), "image/svg+xml");
    return;
  }
  const blob = await chartToPng(state, picture);
  if (blob) saveFile(name, blob);
}
