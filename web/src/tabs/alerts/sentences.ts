// Rules as sentences.

import type { AlertRule } from "../../api/types";
import { durationLabel } from "../../charts/axes/ticks";
import { STATUS_WORDS } from "../../runs/status_words";
import { slugToWords } from "../../ui/text/slug";

export const NEW_RULE: AlertRule = {
  to: [],
  severity: "warning",
  findings: [],
  runs: "",
  quiet: null,
  stalled_secs: null,
  ended: false,
};

/** What a rule sends messages about. */
export function whatText({ severity, findings }: AlertRule): string {
  const worst = severity === "critical" ? "Critical" : `${STATUS_WORDS[severity]} and worse`;
  return findings.length === 0 ? worst : `${worst}, only ${listed(findings.map(slugToWords), "or")}`;
}

/** Where its messages go. */
export function whereText({ to }: AlertRule): string {
  return to.length === 0 ? "to every destination" : `to ${listed(to, "and")}`;
}

/** Everything else that it states, as short phrases. */
export function otherTexts({ quiet, stalled_secs, ended }: AlertRule): string[] {
  return [
    ...(stalled_secs === null ? [] : [`also if nothing is logged for ${durationLabel(stalled_secs)}`]),
    ...(ended ? ["also when a run ends"] : []),
    ...(quiet === null ? [] : [`quiet from ${quiet.replace(/\s*-\s*/, " to ")}`]),
  ];
}

function listed(words: string[], conjunction: string): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)!}`;
}
