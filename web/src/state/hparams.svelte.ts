// The settings of runs (hyperparameters and configs) and the last values of their metrics.

import { getHparams } from "../api/client";
import type { RunHparams } from "../api/types";
import { showError } from "../ui/messages.svelte";
import { compareNames } from "../ui/text/natural_order";

class Hparams {
  byRun = $state.raw<Record<string, RunHparams>>({});
  /** The settings of each run. Keys of nested configs are joined with dots. */
  settings = $derived(
    Object.fromEntries(
      Object.entries(this.byRun).map(([run, values]) => [run, { ...flatten(values.config), ...values.hparams }]),
    ) as Record<string, Record<string, unknown>>,
  );
  settingNames = $derived(sortedKeys(Object.values(this.settings)));
  /** Everything that can be a column of the run list. */
  columnNames = $derived(
    sortedKeys([...Object.values(this.settings), ...Object.values(this.byRun).map((values) => values.metrics ?? {})]),
  );
}

export const hparams = new Hparams();

export async function loadHparams(): Promise<void> {
  try {
    hparams.byRun = (await getHparams()).runs;
  } catch (error) {
    showError(error);
  }
}

/** The value in a column of the run list: a setting of the run, or the last value of a metric. */
export function columnValue(run: string, column: string): unknown {
  const settings = hparams.settings[run];
  if (settings && column in settings) return settings[column];
  return lastValues(run)[column] ?? null;
}

/** The last value of each metric of a run. */
export function lastValues(run: string): Record<string, unknown> {
  return hparams.byRun[run]?.metrics ?? {};
}

function sortedKeys(records: Record<string, unknown>[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))].sort(compareNames);
}

function flatten(config: Record<string, unknown>, prefix = ""): Record<string, unknown> {
  const flat: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config ?? {})) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      Object.assign(flat, flatten(value as Record<string, unknown>, `${prefix}${key}.`));
    } else {
      flat[prefix + key] = value;
    }
  }
  return flat;
}
