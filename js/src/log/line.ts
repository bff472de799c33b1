import { h } from '../view/dom';
import { formatCount } from '../view/units';
import { type Color, paletteColor, type Span, type Style, terminalLine } from './ansi';
import type { LogLine } from './buffer';

const MAX_SHOWN = 4_000; // characters of one line; a page of lines with 64 kB each would stall the browser

/** What decides how a line looks: two equal signatures need no new element. */
export const lineSignature = (line: LogLine, label: string, query: string, current: boolean): string =>
  `${label}\n${current}\n${query}\n${line.text}`;

/** One line of the log as an element; `label` names the source where it changes, `query` (lower case) is marked. */
export function renderLine(line: LogLine, label: string, query = '', current = false): HTMLElement {
  const spans = terminalLine(line.text, line.style);
  const length = spans.reduce((sum, span) => sum + span.text.length, 0);
  const shown = length > MAX_SHOWN ? cut(spans, MAX_SHOWN) : spans;
  return h(
    'div',
    { class: 'kb-log-line', 'data-source': line.source, 'data-current': current || null },
    h('span', { class: 'kb-log-source' }, label),
    (query ? markMatches(shown, query) : shown).map(renderSpan),
    length > MAX_SHOWN && h('span', { class: 'kb-log-more' }, `… ${formatCount(length - MAX_SHOWN)} more characters`),
  );
}

interface MarkedSpan extends Span {
  marked?: boolean;
}

function cut(spans: Span[], length: number): Span[] {
  let left = length;
  return spans.flatMap((span) => {
    const text = span.text.slice(0, left);
    left -= text.length;
    return text ? [{ ...span, text }] : [];
  });
}

/** Splits spans so that every occurrence of the query is made of marked spans. */
function markMatches(spans: Span[], query: string): MarkedSpan[] {
  const text = spans
    .map((span) => span.text)
    .join('')
    .toLowerCase();
  const starts: number[] = [];
  for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) starts.push(at);
  let offset = 0;
  return spans.flatMap((span) => {
    const from = offset;
    offset += span.text.length;
    const cuts = starts.flatMap((start) => [start - from, start + query.length - from]);
    const inside = cuts.filter((at) => at > 0 && at < span.text.length);
    const edges = [0, ...inside, span.text.length];
    return edges.slice(1).map((end, i) => {
      const begin = edges[i] ?? 0;
      const marked = starts.some((start) => from + begin >= start && from + begin < start + query.length);
      return { text: span.text.slice(begin, end), style: span.style, marked };
    });
  });
}

function renderSpan(span: MarkedSpan): Node {
  const css = inlineStyle(span.style);
  const classes = classNames(span.style);
  if (!span.marked && !css && !classes) return document.createTextNode(span.text);
  return h(span.marked ? 'mark' : 'span', { class: classes || null, style: css || null }, span.text);
}

function classNames(style: Style): string {
  const names: string[] = [];
  if (style.bold) names.push('kb-bold');
  if (style.dim) names.push('kb-dim');
  if (style.italic) names.push('kb-italic');
  if (style.underline || style.strike) names.push(style.underline ? 'kb-underline' : 'kb-strike');
  return names.join(' ');
}

function inlineStyle(style: Style): string {
  const [fg, bg] = style.inverse ? [style.bg ?? 'var(--kb-surface)', style.fg ?? 'var(--kb-text)'] : [style.fg, style.bg];
  return `${fg === null ? '' : `color:${cssColor(fg)};`}${bg === null ? '' : `background:${cssColor(bg)};`}`;
}

function cssColor(color: Color): string {
  if (typeof color === 'string') return color;
  return color < 16 ? `var(--kb-ansi-${color})` : paletteColor(color);
}
