// Views are functions from data to elements; `patch` brings the page to the new state without touching what did not change, so that
// focus, selection, scroll positions and opened details survive an update.

type Attributes = Record<string, string | number | boolean | null | undefined>;
export type Child = Node | string | null | undefined | false | Child[];

/** An element with attributes (null, undefined and false are left out) and children. */
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...flatten(children));
  return element;
}

function flatten(children: Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return flatten(child);
    return child === null || child === undefined || child === false ? [] : [child];
  });
}

/** Make `current` look like `next`, reusing its nodes; whether details are open is the reader's business once they exist. */
export function patch(current: Element, next: Element): void {
  patchAttributes(current, next);
  const old = [...current.childNodes];
  const fresh = [...next.childNodes];
  fresh.forEach((node, i) => {
    const before = old[i];
    if (!before) current.append(node);
    else if (before instanceof Element && node instanceof Element && sameKind(before, node)) patch(before, node);
    else if (before.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
      if (before.nodeValue !== node.nodeValue) before.nodeValue = node.nodeValue;
    } else before.replaceWith(node);
  });
  for (const extra of old.slice(fresh.length)) extra.remove();
}

const sameKind = (a: Element, b: Element) => a.tagName === b.tagName && a.getAttribute('data-key') === b.getAttribute('data-key');

function patchAttributes(current: Element, next: Element): void {
  const kept = current.tagName === 'DETAILS' ? 'open' : '';
  for (const name of current.getAttributeNames()) if (name !== kept && !next.hasAttribute(name)) current.removeAttribute(name);
  for (const name of next.getAttributeNames()) {
    const value = next.getAttribute(name) ?? '';
    if (name !== kept && current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
}
