// Notices when an element comes close to the visible part of the page.

const MARGIN = 400;
const callbacks = new WeakMap<Element, (near: boolean) => void>();
let observer: IntersectionObserver | null = null;

/** An attachment that calls back when the element comes near the view or leaves it. The page shares one observer. */
export function whenNearView(callback: (near: boolean) => void) {
  return (element: Element): (() => void) => {
    observer ??= new IntersectionObserver(
      (entries) => {
        for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
      },
      { rootMargin: `${MARGIN}px 0px` },
    );
    callbacks.set(element, callback);
    observer.observe(element);
    // The observer reports after the next frame; what is in view now need not wait for it.
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > -MARGIN && top < innerHeight + MARGIN) callback(true);
    return () => {
      observer?.unobserve(element);
      callbacks.delete(element);
    };
  };
}
