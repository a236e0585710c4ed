// Makes what scrolls reachable by keyboard: without a mouse, only an element with the focus can be scrolled.

const SCROLLING_CONTENT = "table, pre";

/** Attach it to an element that may scroll, or whose tables and code may. They get a place in the order of Tab if they do. */
export function scrollsByKeyboard(element: HTMLElement): () => void {
  const update = () => {
    for (const box of [element, ...element.querySelectorAll<HTMLElement>(SCROLLING_CONTENT)]) {
      const { overflowX, overflowY } = getComputedStyle(box);
      const scrolls =
        (/auto|scroll/.test(overflowX) && box.scrollWidth > box.clientWidth) ||
        (/auto|scroll/.test(overflowY) && box.scrollHeight > box.clientHeight);
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  const sizes = new ResizeObserver(update);
  sizes.observe(element);
  const content = new MutationObserver(update);
  content.observe(element, { childList: true, subtree: true, characterData: true });
  return () => {
    sizes.disconnect();
    content.disconnect();
  };
}
