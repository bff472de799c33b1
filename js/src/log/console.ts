import { h } from '../view/dom';
import { formatCount, plural } from '../view/units';
import { visibleText } from './ansi';
import type { LogBuffer } from './buffer';
import { copyText } from './clipboard';
import { lineSignature, renderLine } from './line';
import { LogSearch } from './search';

const ROW_PX = 18; // the style sheet's --kb-log-row
const OVERSCAN = 8;
const SCAN_BUDGET_MS = 6;
const COPIED_MS = 1_500;

const SOURCE_NAMES: Record<string, string> = {
  implementation: 'impl',
  reference: 'ref',
  judge: 'judge',
  build: 'build',
};

/**
 * A log that keeps up: only the lines in sight are elements, painted at most once a frame whatever arrives.
 * Call `changed` after the buffer has changed.
 */
export class LogConsole {
  readonly element: HTMLElement;
  private readonly search: LogSearch;
  private readonly rows = new Map<number, { element: HTMLElement; signature: string }>();
  private readonly viewport = h('div', {
    class: 'kb-log-viewport',
    role: 'log',
    'aria-live': 'off',
    'aria-label': 'Log of the evaluation',
    tabindex: 0,
  });
  private readonly sheet = h('div', { class: 'kb-log-sheet' });
  private readonly count = h('span', { class: 'kb-log-count' });
  private readonly input = h('input', {
    type: 'search',
    placeholder: 'Search',
    'aria-label': 'Search the log',
    spellcheck: 'false',
    autocomplete: 'off',
  }) as HTMLInputElement;
  private readonly found = h('span', { class: 'kb-log-found', 'aria-live': 'polite' });
  private readonly follow = h('button', { type: 'button', 'aria-pressed': 'true', title: 'Stay at the newest line' }, 'Follow');
  private readonly copy = h('button', { type: 'button', title: 'Copy the whole log' }, 'Copy');
  private readonly lifetime = new AbortController();
  private following = true;
  private frame = 0;
  private origin = 0; // number of the line at the top of the sheet
  private widest = 0;
  private paintedTop = 0; // scroll position that was painted last
  private hidden = false; // taken out of the page for a while, as notebooks do with cells out of sight

  constructor(private readonly buffer: LogBuffer) {
    this.search = new LogSearch(buffer);
    this.viewport.append(this.sheet);
    const previous = h('button', { type: 'button', title: 'Previous match (Shift+Enter)', 'aria-label': 'Previous match' }, '↑');
    const next = h('button', { type: 'button', title: 'Next match (Enter)', 'aria-label': 'Next match' }, '↓');
    this.element = h(
      'section',
      { class: 'kb-log', 'aria-label': 'Log' },
      h(
        'div',
        { class: 'kb-log-bar' },
        h('h3', {}, 'Log'),
        this.count,
        h('span', { class: 'kb-log-search' }, this.input, this.found, previous, next),
        this.follow,
        this.copy,
      ),
      this.viewport,
    );
    this.listen(previous, next);
    this.changed();
  }

  /** The buffer has new lines: paint them with the next frame. */
  changed(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  /** Call now and then: a page that takes the log out and puts it back changes the scroll position without an event. */
  settle(): void {
    const { viewport } = this;
    if (viewport.clientHeight === 0) this.hidden = true;
    else if (this.hidden) {
      this.hidden = false;
      viewport.scrollTop = this.paintedTop;
      this.changed();
    } else if (viewport.scrollTop !== this.paintedTop) this.changed();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.lifetime.abort();
  }

  private listen(previous: HTMLElement, next: HTMLElement): void {
    const { signal } = this.lifetime;
    this.viewport.addEventListener('scroll', () => this.scrolled(), { signal, passive: true });
    this.input.addEventListener('input', () => this.query(), { signal });
    this.element.addEventListener('keydown', (event) => this.key(event), { signal });
    previous.addEventListener('click', () => this.jump(-1), { signal });
    next.addEventListener('click', () => this.jump(1), { signal });
    this.follow.addEventListener('click', () => this.setFollowing(!this.following), { signal });
    this.copy.addEventListener('click', () => void this.copyAll(), { signal });
    const resized = new ResizeObserver(() => this.changed());
    resized.observe(this.viewport);
    signal.addEventListener('abort', () => resized.disconnect());
  }

  private paint(): void {
    const { buffer, viewport, sheet } = this;
    if (viewport.clientHeight === 0) return; // out of the page: `settle` notices when it is back
    if (this.search.query) this.search.scan(SCAN_BUDGET_MS);
    this.keepPlace();
    sheet.style.height = `${(buffer.end - buffer.first) * ROW_PX}px`;
    if (this.following) viewport.scrollTop = sheet.offsetHeight;
    const top = buffer.first + Math.floor(viewport.scrollTop / ROW_PX);
    const first = Math.max(buffer.first, top - OVERSCAN);
    const last = Math.min(buffer.end, top + Math.ceil(viewport.clientHeight / ROW_PX) + OVERSCAN);
    this.paintRows(first, last);
    this.paintBar();
    this.paintedTop = viewport.scrollTop;
    if (!this.search.complete) this.changed();
  }

  /** Where the oldest lines were dropped, the lines in sight stay where they are. */
  private keepPlace(): void {
    const dropped = this.buffer.first - this.origin;
    this.origin = this.buffer.first;
    if (dropped > 0 && !this.following) this.viewport.scrollTop -= dropped * ROW_PX;
  }

  private paintRows(first: number, last: number): void {
    for (const [seq, row] of this.rows) {
      if (seq >= first && seq < last) continue;
      row.element.remove();
      this.rows.delete(seq);
    }
    let previous = this.buffer.line(first - 1)?.source;
    for (let seq = first; seq < last; seq++) {
      const line = this.buffer.line(seq);
      if (!line) continue;
      const label = line.source === previous ? '' : (SOURCE_NAMES[line.source] ?? line.source);
      previous = line.source;
      this.paintRow(seq, label);
    }
    this.sheet.style.minWidth = `calc(${this.widest}ch + 5rem)`;
  }

  private paintRow(seq: number, label: string): void {
    const line = this.buffer.line(seq);
    if (!line) return;
    const current = seq === this.search.current;
    const signature = lineSignature(line, label, this.search.query, current);
    const old = this.rows.get(seq);
    const offset = `translateY(${(seq - this.buffer.first) * ROW_PX}px)`;
    if (old?.signature === signature) {
      old.element.style.transform = offset;
      return;
    }
    const element = renderLine(line, label, this.search.query, current);
    element.style.transform = offset;
    this.widest = Math.max(this.widest, element.textContent?.length ?? 0);
    if (old) old.element.replaceWith(element);
    else this.sheet.append(element);
    this.rows.set(seq, { element, signature });
  }

  private paintBar(): void {
    const { buffer, search } = this;
    const lost = buffer.first > 0 ? `, the first ${formatCount(buffer.first)} are not kept here` : '';
    setText(this.count, `${plural(buffer.end, 'line')}${lost}`);
    const total = search.matches.length;
    setText(this.found, search.query ? (total ? `${search.position} of ${formatCount(total)}` : 'no match') : '');
    this.follow.setAttribute('aria-pressed', String(this.following));
  }

  private scrolled(): void {
    const { viewport } = this;
    if (this.hidden || viewport.clientHeight === 0) return;
    const atEnd = viewport.scrollTop + viewport.clientHeight >= viewport.scrollHeight - ROW_PX;
    if (atEnd !== this.following) this.setFollowing(atEnd);
    this.changed();
  }

  private setFollowing(following: boolean): void {
    this.following = following;
    this.changed();
  }

  private query(): void {
    this.search.setQuery(this.input.value);
    this.changed();
  }

  private jump(step: 1 | -1): void {
    this.search.scan(Number.POSITIVE_INFINITY);
    const top = this.buffer.first + Math.floor(this.viewport.scrollTop / ROW_PX);
    const seq = this.search.move(step, top);
    if (seq === null) return;
    this.following = false;
    this.viewport.scrollTop = (seq - this.buffer.first) * ROW_PX - this.viewport.clientHeight / 2;
    this.paint();
    this.rows.get(seq)?.element.querySelector('mark')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  private key(event: KeyboardEvent): void {
    const inInput = event.target === this.input;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f') this.input.focus();
    else if (event.key === 'Enter' && inInput) this.jump(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape' && inInput) {
      this.input.value = '';
      this.query();
      this.viewport.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private async copyAll(): Promise<void> {
    const lines: string[] = [];
    for (let seq = this.buffer.first; seq < this.buffer.end; seq++) lines.push(visibleText(this.buffer.line(seq)?.text ?? ''));
    const copied = await copyText(lines.join('\n'));
    this.copy.textContent = copied ? 'Copied' : 'Not allowed';
    setTimeout(() => (this.copy.textContent = 'Copy'), COPIED_MS);
  }
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
