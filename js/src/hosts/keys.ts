/**
 * Lets controls inside `root` have the keys that are pressed on them. JupyterLab looks for its shortcuts before the page's elements
 * see a key, and would edit the cell on Enter or delete it on D, D; only the focused element itself can ask it not to. Combinations with
 * Ctrl stay JupyterLab's (save, run), except for the log's own search.
 */
export function claimKeys(root: HTMLElement, signal: AbortSignal): void {
  const claim = (event: KeyboardEvent) => {
    const { target } = event;
    if (!(target instanceof Element) || !root.contains(target)) return;
    const combined = event.ctrlKey || event.metaKey;
    const search = event.key.toLowerCase() === 'f' && target.closest('.kb-log') !== null;
    target.toggleAttribute('data-lm-suppress-shortcuts', !combined || search);
  };
  window.addEventListener('keydown', claim, { capture: true, signal });
}
