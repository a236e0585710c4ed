// The words for the status of a run and for the severity of a finding.

import type { Status } from "../api/types";

/** From worst to best. */
export const STATUS_WORDS: Record<Status, string> = {
  critical: "Critical",
  warning: "Warning",
  info: "Note",
  unknown: "Not enough data",
  ok: "Healthy",
};
