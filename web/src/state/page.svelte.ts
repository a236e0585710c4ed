// What is open on the page.

class Page {
  paletteOpen = $state(false);
  helpOpen = $state(false);
  /** Whether the runs are shown as a drawer, on narrow screens. */
  drawerOpen = $state(false);
  /** The place of the user's card that is being edited; null if none is. */
  editedPanel = $state<number | null>(null);
  /** While a report is being saved, cards outside the view load their data too. */
  exporting = $state(false);
}

export const page = new Page();
