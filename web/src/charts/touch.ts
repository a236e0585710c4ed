// Fingers on a chart: one reads values as it moves sideways, two zoom and pan. Moving up or down scrolls the page.

/** What a chart does with fingers. Positions are fractions of the plot's width, except those of the screen. */
export interface TouchTarget {
  /** A finger is at a position on the screen; null when it has gone without a tap. */
  read: (place: { clientX: number; clientY: number } | null) => void;
  /** Two fingers have begun to move. */
  startPinch: () => void;
  /** Two fingers that began at `start` are at `now`. */
  pinch: (start: [number, number], now: [number, number]) => void;
  /** Two taps in quick succession. */
  reset: () => void;
  /** The plot's position on the screen. */
  box: () => DOMRect;
}

/** A finger that moved less than this has tapped. */
const TAP_PIXELS = 8;
const DOUBLE_TAP_MS = 300;

/** Handles fingers on an element. Returns a function that stops. */
export function handleTouch(element: HTMLElement, target: TouchTarget): () => void {
  const fingers = new Map<number, { x: number; y: number }>();
  let pinchStart: [number, number] | null = null;
  let start: { x: number; y: number } | null = null;
  let moved = false;
  let lastTap = -Infinity;

  const fractions = (): [number, number] => {
    const box = target.box();
    const [a, b] = [...fingers.values()].map((finger) => (finger.x - box.left) / box.width).sort((p, q) => p - q);
    return [a!, b!];
  };

  function down(event: PointerEvent): void {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 1) {
      start = { x: event.clientX, y: event.clientY };
      moved = false;
    } else if (fingers.size === 2) {
      moved = true;
      target.read(null);
      pinchStart = fractions();
      target.startPinch();
    }
  }

  function move(event: PointerEvent): void {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2 && pinchStart) {
      target.pinch(pinchStart, fractions());
    } else if (fingers.size === 1 && start && !pinchStart) {
      moved ||= Math.hypot(event.clientX - start.x, event.clientY - start.y) > TAP_PIXELS;
      if (moved) target.read(event);
    }
  }

  function up(event: PointerEvent): void {
    if (!fingers.delete(event.pointerId)) return;
    if (fingers.size < 2 && pinchStart && fingers.size === 0) pinchStart = null;
    if (moved || event.type === "pointercancel") return;
    const now = event.timeStamp;
    if (now - lastTap < DOUBLE_TAP_MS) target.reset();
    else target.read(event);
    lastTap = now;
  }

  // Without this, browsers send the events of a mouse after those of a finger.
  const noMouse = (event: TouchEvent) => event.cancelable && event.preventDefault();

  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("touchend", noMouse, { passive: false });
  return () => {
    element.removeEventListener("pointerdown", down);
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", up);
    element.removeEventListener("touchend", noMouse);
  };
}
