// Whether an element is near the part of the page in view.

const callbacks = new WeakMap<Element, (near: boolean) => void>();
let observer: IntersectionObserver | null = null;

/** An attachment: calls back when the element comes near the view or leaves it. One observer serves the whole page. */
export function near(callback: (near: boolean) => void) {
  return (element: Element): (() => void) => {
    observer ??= new IntersectionObserver(
      (entries) => {
        for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
      },
      { rootMargin: "400px 0px" },
    );
    callbacks.set(element, callback);
    observer.observe(element);
    return () => {
      observer?.unobserve(element);
      callbacks.delete(element);
    };
  };
}
