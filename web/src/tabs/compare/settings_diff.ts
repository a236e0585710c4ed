// Which settings differ between runs.

import { formatSetting } from "../../ui/text/format";

export interface SettingRow {
  name: string;
  /** One value per run. */
  values: unknown[];
  differs: boolean;
}

/** The settings of runs side by side. Those that differ come first. */
export function compareSettings(runs: string[], settings: Record<string, Record<string, unknown>>): SettingRow[] {
  const names = new Set<string>();
  for (const run of runs) for (const name of Object.keys(settings[run] ?? {})) names.add(name);
  const rows = [...names].sort().map((name) => {
    const values = runs.map((run) => settings[run]?.[name]);
    return { name, values, differs: new Set(values.map(formatSetting)).size > 1 };
  });
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}
